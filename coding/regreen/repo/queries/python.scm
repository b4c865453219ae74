; What a definition is in Python. The captures are explained in languages.py.

(function_definition name: (identifier) @name ":" @stop) @definition.function

(class_definition name: (identifier) @name ":" @stop) @definition.class

(decorator) @decorator

(type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @definition.type

; Variables are looked for only where they are no locals of a function: matching those would cost as much as all else.
; X = ..., X: T, X: T = ..., and each name of a, b = ...
(module (expression_statement
  (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)] right: (_)? @value)
  @definition.variable))
(class_definition body: (block (expression_statement
  (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)] right: (_)? @value)
  @definition.variable)))
(if_statement (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(elif_clause (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(else_clause (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(try_statement (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(except_clause (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(finally_clause (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(with_statement (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(for_statement (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(while_statement (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))
(case_clause (block (expression_statement (assignment
    left: [(identifier) @name (pattern_list (identifier) @name) (tuple_pattern (identifier) @name)]
    right: (_)? @value) @definition.variable)))

; A = B = ...: one definition each, all with the whole statement as signature
(expression_statement
  (assignment right: (assignment left: (identifier) @name)) @definition.variable)
(expression_statement
  (assignment right: (assignment right: (assignment left: (identifier) @name))) @definition.variable)

(expression_statement
  (assignment left: (identifier) @name type: (type (identifier) @type) right: (_) @value) @definition.type
  (#eq? @type "TypeAlias"))
