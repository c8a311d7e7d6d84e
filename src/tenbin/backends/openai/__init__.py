"""Any server that speaks OpenAI's protocol: completions (`openai`) and chats (`openai-chat`).

Knows HTTP and texts. Imports no torch; transformers only where `tokenizer=` names a tokenizer.
"""
