"""The explorer: a network's run on a page, in the browser or as one HTML file.

explored.py   a network on a word: its trace beside the machine's run
moments.py    a moment as plain data: what the kind's record says that it shows
answers.py    from a URL to an answer, without a server
server.py     the answers over HTTP, to this machine alone
page.py       the page as one file, and in a notebook
web/          the page itself: ES modules and a style sheet, as they are written
"""
