"""Charts of stored results, through altair and vl-convert: for the page and for papers.

    draw         a chart → SVG and PNG, light and dark
    scores       every task's score with its interval
    templates    a sweep: tasks by templates
    languages    accuracy, agreement and position bias by language
    curve        learning curves with their bands
    differences  paired differences between runs

Both libraries come with `pip install 'tenbin[report]'` and are imported when a chart is drawn.
"""
