"""A run as one HTML page that opens from a disk and needs no network.

    summary    a result document → what the page shows at once
    sample     one row of samples.parquet → what the page shows of a document
    packing    samples → compressed blocks and an index of every cell
    command    a stored config → the command that repeats it
    wording    the interface's texts, in English and Japanese
    page       all of these → HTML under a strict content security policy
    writing    a page → one file, or a file and a folder beside it

Reads stored values only, and trusts none of them: whatever a model or a data set wrote reaches the
page as JSON and is shown as text.
"""
