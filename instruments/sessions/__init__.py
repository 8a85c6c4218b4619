"""What sessions of coding agents on disk show: answers, models, tools, denials. Nothing of theirs is changed."""
