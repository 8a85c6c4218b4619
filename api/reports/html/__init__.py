"""The HTML report of an evaluation: Jinja2 templates, a style sheet, and what fills them."""
