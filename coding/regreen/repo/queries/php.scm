; What a definition is in PHP. The captures are explained in languages.py.

[(class_declaration attributes: (attribute_list (attribute_group) @decorator))
 (interface_declaration attributes: (attribute_list (attribute_group) @decorator))
 (trait_declaration attributes: (attribute_list (attribute_group) @decorator))
 (enum_declaration attributes: (attribute_list (attribute_group) @decorator))
 (function_definition attributes: (attribute_list (attribute_group) @decorator))
 (method_declaration attributes: (attribute_list (attribute_group) @decorator))
 (property_declaration attributes: (attribute_list (attribute_group) @decorator))
 (const_declaration attributes: (attribute_list (attribute_group) @decorator))]

(namespace_definition name: (_) @name body: (_)) @definition.namespace @scope
(namespace_definition name: (_) @name !body) @definition.namespace @scope @rest

(class_declaration name: (_) @name body: (_) @stop) @definition.class
(interface_declaration name: (_) @name body: (_) @stop) @definition.interface
(trait_declaration name: (_) @name body: (_) @stop) @definition.trait
(enum_declaration name: (_) @name body: (_) @stop) @definition.enum
(function_definition name: (_) @name body: (_) @stop) @definition.function
(method_declaration name: (_) @name body: (_)? @stop) @definition.method

; const A = 1, private ?int $b = 2: the whole declaration where it holds one name only
(const_declaration (const_element . (name) @name (_) @value)) @definition.constant
(const_declaration (const_element . (name) @name (_) @value) @definition.constant . ",")
(const_declaration "," . (const_element . (name) @name (_) @value) @definition.constant)
(property_declaration
  (property_element name: (_) @name default_value: (_)? @value)
  (property_hook_list)? @stop) @definition.field
(property_declaration (property_element name: (_) @name default_value: (_)? @value) @definition.field . ",")
(property_declaration "," . (property_element name: (_) @name default_value: (_)? @value) @definition.field)
(function_call_expression
  function: (name) @define
  arguments: (arguments . (argument (string . (string_content) @name .)) . (argument (_) @value))
  (#eq? @define "define")) @definition.constant

; $x = ..., $f = function (...) {...}, $g = fn(...) => ..., $c = new class {...}
(program (expression_statement
  (assignment_expression left: (variable_name) @name right: (_) @value) @definition.variable))
(assignment_expression left: (variable_name) @name right: (anonymous_function body: (_) @stop)) @definition.function
(assignment_expression left: (variable_name) @name right: (arrow_function "=>" @stop)) @definition.function
(assignment_expression
  left: (variable_name) @name
  right: (object_creation_expression (anonymous_class body: (_) @stop))) @definition.class
