"""The explorer: a network's run on a page, in the browser or as one HTML file.

explored.py   a network on a word: its trace and the machine's run
moments.py    a moment as plain data
answers.py    from a URL to an answer, without a server
server.py     the answers over HTTP, to this computer alone
page.py       the page as one file, and in a notebook
web/          the page itself: ES modules and a style sheet, without a build step
"""
