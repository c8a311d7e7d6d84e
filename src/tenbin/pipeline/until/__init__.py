"""Stop when it is known: `--until`.

Without `--until` a run asks all its prompts at once. With it, the prompts are held back and
released block by block, in a random order that the seed decides, whole clusters together; each
task stops by itself. A block is a portion of the plan: it is asked, journalled and judged as ever,
so a run that was killed finds its blocks in the journal and stops where it would have stopped.
"""
