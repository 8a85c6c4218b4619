"""The web pages: the ledger in a browser.

Every page is rendered by the server from the use cases that the JSON routes call, and each links to the same figures
as JSON. A page works without JavaScript. Its policy allows this server's own style, script and images, nothing else.
"""
