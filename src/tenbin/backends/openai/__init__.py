"""Any server that speaks OpenAI's protocol: completions (`openai`) and chats (`openai-chat`).

Needs no torch; transformers is imported only where `tokenizer=` names a tokenizer.
"""
