"""Go for the refactor scorer: syntax kinds and queries."""

import tree_sitter_go

from instruments.probes.refactor.language import Language, kinds

QUERY = r"""
(function_declaration body: (block)) @function
(method_declaration body: (block)) @function
(type_spec) @type
(type_alias) @type
(const_spec) @constant
(var_spec) @variable
(func_literal) @closure

[(identifier) (type_identifier)] @name
(keyed_element . (literal_element (identifier) @label))
(field_identifier) @member
(call_expression function: (identifier) @called)

(short_var_declaration left: (expression_list (identifier) @local))
(var_spec name: (identifier) @local)
(for_clause initializer: (short_var_declaration left: (expression_list (identifier) @loop)))
(range_clause left: (expression_list (identifier) @loop))
(short_var_declaration) @assignment
(assignment_statement operator: "=") @assignment
(var_spec value: (_)) @assignment
(return_statement) @return

(comment) @comment

(if_statement !alternative) @guard
(range_clause) @is.range
((qualified_type package: (package_identifier) @_in name: (type_identifier) @_of) @is.join
  (#any-of? @_in "strings" "bytes") (#any-of? @_of "Builder" "Buffer"))
((call_expression function: (selector_expression
    operand: (identifier) @_in field: (field_identifier) @_of)) @is.join
  (#any-of? @_in "strings" "bytes" "slices") (#any-of? @_of "Join" "NewBuffer" "NewBufferString"))
[(expression_switch_statement) (type_switch_statement)] @is.switch
(function_declaration result: (parameter_list (parameter_declaration name: (_)))) @is.results
(method_declaration result: (parameter_list (parameter_declaration name: (_)))) @is.results

((call_expression
    function: (selector_expression operand: (identifier) @_in field: (field_identifier) @_of)
    arguments: (argument_list . [(interpreted_string_literal) (raw_string_literal)] @_text)) @is.error
  (#eq? @_in "fmt") (#eq? @_of "Errorf") (#match? @_text "(^|[^%])(%%)*%[-+# 0]*w"))
((call_expression function: (selector_expression
    operand: (identifier) @_in field: (field_identifier) @_of)) @is.error
  (#eq? @_in "errors") (#any-of? @_of "Is" "As" "Join" "Unwrap"))
((var_spec name: (identifier) @error value: (expression_list (call_expression
    function: (selector_expression operand: (identifier) @_in field: (field_identifier) @_of))))
  (#any-of? @_in "errors" "fmt") (#any-of? @_of "New" "Errorf"))
((method_declaration
    receiver: (parameter_list (parameter_declaration type: [
      (type_identifier) @error
      (pointer_type (type_identifier) @error)]))
    name: (field_identifier) @_of)
  (#eq? @_of "Error"))
"""

COMMENT_QUERY = r"""
(source_file [
  (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement) (block)
  (return_statement) (break_statement) (continue_statement) (package_clause)
] @either)
[(assignment_statement) (short_var_declaration) (inc_statement) (dec_statement) (range_clause) (import_declaration)
 (function_declaration) (method_declaration) (type_declaration) (const_declaration) (var_declaration)
 (for_clause) (go_statement (call_expression)) (defer_statement (call_expression))] @code
((expression_statement (call_expression) @_call) @code (#match? @_call "^[A-Za-z_][\\w.]*\\("))
(if_statement condition: [(binary_expression) (unary_expression) (call_expression)]) @code
(return_statement (expression_list (_) (_))) @code
(return_statement (expression_list [
  (nil) (true) (false) (int_literal) (float_literal) (interpreted_string_literal) (raw_string_literal)
  (call_expression) (composite_literal)])) @code
"""

GO = Language(
    grammar=tree_sitter_go.language,
    query=QUERY,
    top_level_kinds=frozenset(
        {
            "package_clause",
            "import_declaration",
            "const_declaration",
            "var_declaration",
            "type_declaration",
            "function_declaration",
            "method_declaration",
            "comment",
        }
    ),
    results="result",
    result_list="parameter_list",
    literal_kinds=kinds(
        "int_literal float_literal rune_literal true false nil interpreted_string_literal "
        "interpreted_string_literal_content raw_string_literal raw_string_literal_content"
    ),
    passing_kinds=kinds(
        "block statement_list return_statement short_var_declaration var_declaration var_spec identifier "
        "expression_list parenthesized_expression composite_literal literal_value literal_element keyed_element "
        "type_identifier slice_type array_type map_type struct_type field_declaration_list field_declaration "
        "field_identifier"
    ),
    element_kinds=frozenset({"index_expression"}),
    composite_kinds=frozenset(
        {
            "expression_list",
            "composite_literal",
            "literal_value",
            "literal_element",
            "keyed_element",
            "unary_expression",
        }
    ),
    prefixes={"variadic_parameter_declaration": "[]"},
    receiver="receiver",
    statement_lists=frozenset({"block", "statement_list"}),
    jump_kinds=frozenset({"return_statement", "continue_statement", "break_statement", "goto_statement"}),
    external_entry=r"main|init|(Test|Benchmark|Example|Fuzz)\w*",
    implicit_methods=frozenset({"Error", "Unwrap", "Is", "As", "String", "Format", "MarshalText", "MarshalJSON"}),
    line_comment="//",
    comment_marks=r"^\s*(//|/\*+|\*(?!/))|\*+/\s*$",
    directive=r"//([a-z0-9]+:[a-z0-9]|line |export |extern |nolint\b)|//\s*\+build\b",
    comment_query=COMMENT_QUERY,
    open_block=r"\{\s*$",
    block_end="}",
    dangling_clause=r"^\s*\}",
    clause_start="if a {",
)
"""In Go, all types are declared, results may have names, and a file holds only declarations."""
