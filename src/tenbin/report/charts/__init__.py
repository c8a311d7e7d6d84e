"""Charts of stored results, through altair and vl-convert: for the page and for papers.

    drawing      a chart's description → pictures in light and dark
    scores       every task's value with its interval
    templates    a sweep: task × template
    languages    scores, agreement, positions of parallel tasks
    differences  paired differences between runs

Both libraries come with `pip install 'tenbin[report]'` and are imported when a chart is drawn.
"""
