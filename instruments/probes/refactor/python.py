"""Python for the refactor scorer: syntax kinds and queries."""

import tree_sitter_python

from instruments.probes.refactor.language import Language, kinds

QUERY = r"""
(function_definition) @function
(class_definition) @type
(module (type_alias_statement) @type)
(module (expression_statement (assignment left: (identifier) right: (_)) @constant))
(decorated_definition definition: (_) @decorated)
(lambda) @closure

(identifier) @name
(keyword_argument name: (identifier) @label)
(attribute attribute: (identifier) @member)
(call function: (identifier) @called)

(assignment left: (identifier) @local)
(assignment left: [(pattern_list (identifier) @local) (tuple_pattern (identifier) @local)])
(named_expression name: (identifier) @local)
(as_pattern alias: (as_pattern_target (identifier) @local))
(for_statement left: (identifier) @loop)
(for_statement left: [(pattern_list (identifier) @loop) (tuple_pattern (identifier) @loop)])
(for_in_clause left: (identifier) @loop)
(for_in_clause left: [(pattern_list (identifier) @loop) (tuple_pattern (identifier) @loop)])
(assignment right: (_)) @assignment
(return_statement) @return

(comment) @comment
(expression_statement . (string) @docstring .)

(if_statement !alternative) @guard
((for_statement right: (_) @_over) @is.range (#not-match? @_over "^range\\s*\\("))
((for_in_clause right: (_) @_over) @is.range (#not-match? @_over "^range\\s*\\("))
((call function: (attribute object: (_) @_in attribute: (identifier) @_of)) @is.join
  (#eq? @_of "join") (#not-eq? @_in "os.path"))
((call function: [(identifier) @_of (attribute attribute: (identifier) @_of)]) @is.join (#eq? @_of "StringIO"))
(match_statement) @is.switch
(function_definition return_type: (_)) @is.results

(raise_statement cause: (_)) @is.error
((class_definition name: (identifier) @error superclasses: (argument_list [
    (identifier) @_of (attribute attribute: (identifier) @_of)]))
  (#match? @_of "(Error|Exception)$"))

[(print_statement) (exec_statement)] @refused
(block) @filled
"""

COMMENT_QUERY = r"""
(module [
  (if_statement) (for_statement) (while_statement) (with_statement) (match_statement) (try_statement)
  (return_statement) (raise_statement) (break_statement) (continue_statement) (pass_statement)
  (import_statement) (delete_statement) (assert_statement)
] @either)
[(augmented_assignment) (import_from_statement) (function_definition) (class_definition) (decorated_definition)
 (for_statement)] @code
(assignment right: (_)) @code
(module (expression_statement [(assignment right: (_)) (augmented_assignment)]) @either)
((expression_statement (call) @_call) @code (#match? @_call "^[A-Za-z_][\\w.]*\\("))
(if_statement condition: [(comparison_operator) (boolean_operator) (call)]) @code
(while_statement condition: [(comparison_operator) (boolean_operator) (call)]) @code
(return_statement [
  (expression_list) (tuple) (none) (true) (false) (integer) (float) (string) (call) (list) (dictionary)]) @code
(raise_statement (call)) @code
"""

PYTHON = Language(
    grammar=tree_sitter_python.language,
    query=QUERY,
    results="return_type",
    result_list="",
    literal_kinds=kinds("integer float string string_start string_content string_end true false none"),
    passing_kinds=kinds(
        "block return_statement expression_statement pass_statement assignment type identifier expression_list "
        "pattern_list parenthesized_expression tuple list set dictionary pair list_splat"
    ),
    element_kinds=frozenset({"subscript"}),
    composite_kinds=frozenset(
        {"expression_list", "tuple", "parenthesized_expression", "argument_list", "keyword_argument"}
    ),
    receivers=frozenset({"self", "cls"}),
    statement_lists=frozenset({"block"}),
    jump_kinds=frozenset({"return_statement", "raise_statement", "continue_statement", "break_statement"}),
    external_entry=r"main|test\w*",
    implicit_methods=frozenset(
        {"__init__", "__post_init__", "__new__", "__call__", "__str__", "__repr__", "__enter__", "__exit__"}
    ),
    line_comment="#",
    comment_marks=r"""^\s*#+:?|^[rRuU]?("{3}|'{3}|"|')|("{3}|'{3}|"|')$""",
    directive=r"#!|#.*coding[:=]|#\s*(type:|noqa\b|pylint:|mypy:|pyright:|ruff:|flake8:|isort:|fmt:|pragma:|region\b|endregion\b|%%)",
    comment_query=COMMENT_QUERY,
    open_block=r":\s*$",
    block_end="\n        pass",
    dangling_clause=r"^\s*(else|elif|except|finally)\b",
    clause_start="if a:\n    pass\n",
)
"""In Python, types may be undeclared, strings may serve as comments, and a module may hold any statement."""
