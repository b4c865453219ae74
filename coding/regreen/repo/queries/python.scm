; What a definition is in Python. The captures are explained in languages.py.

(function_definition name: (identifier) @name ":" @stop) @definition.function

(class_definition name: (identifier) @name ":" @stop) @definition.class

(decorator) @decorator

(type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @definition.type

; X = ..., X: T, X: T = ...
(expression_statement
  (assignment left: (identifier) @name right: (_)? @value) @definition.variable)

; a, b = ...
(expression_statement
  (assignment left: [(pattern_list (identifier) @name) (tuple_pattern (identifier) @name)] right: (_)? @value)
  @definition.variable)

; A = B = ...: one definition each, all with the whole statement as signature
(expression_statement
  (assignment right: (assignment left: (identifier) @name)) @definition.variable)
(expression_statement
  (assignment right: (assignment right: (assignment left: (identifier) @name))) @definition.variable)

(expression_statement
  (assignment left: (identifier) @name type: (type (identifier) @type) right: (_) @value) @definition.type
  (#eq? @type "TypeAlias"))
