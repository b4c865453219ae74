; What a definition is in Swift. The captures are explained in languages.py.

(class_declaration declaration_kind: "class" name: (_) @name body: (_) @stop) @definition.class
(class_declaration declaration_kind: "struct" name: (_) @name body: (_) @stop) @definition.struct
(class_declaration declaration_kind: "enum" name: (_) @name body: (_) @stop) @definition.enum
(class_declaration declaration_kind: "actor" name: (_) @name body: (_) @stop) @definition.actor
(class_declaration declaration_kind: "extension" name: (_) @name body: (_) @stop) @definition.extension
(protocol_declaration name: (type_identifier) @name body: (_) @stop) @definition.protocol

; (a return type has the field `name` too)
(function_declaration "func" . name: _ @name body: (_) @stop) @definition.function
(protocol_function_declaration "func" . name: _ @name body: (_)? @stop) @definition.function
(init_declaration "init" @name body: (_)? @stop) @definition.constructor
(deinit_declaration "deinit" @name body: (_) @stop) @definition.method
(subscript_declaration "subscript" @name (computed_property) @stop) @definition.property

(class_body (property_declaration name: (pattern bound_identifier: (_) @name)
  value: (_)? @value computed_value: (_)? @stop (willset_didset_block)? @stop) @definition.property)
(enum_class_body (property_declaration name: (pattern bound_identifier: (_) @name)
  value: (_)? @value computed_value: (_)? @stop (willset_didset_block)? @stop) @definition.property)
(class_body (property_declaration name: (pattern (pattern (simple_identifier) @name)) value: (_)? @value)
  @definition.property)
(protocol_property_declaration name: (pattern bound_identifier: (_) @name) (protocol_property_requirements)? @stop)
  @definition.property
(source_file (property_declaration (value_binding_pattern mutability: "var")
  name: (pattern bound_identifier: (_) @name)
  value: (_)? @value computed_value: (_)? @stop (willset_didset_block)? @stop) @definition.variable)
(source_file (property_declaration (value_binding_pattern mutability: "let")
  name: (pattern bound_identifier: (_) @name) value: (_)? @value) @definition.constant)
(source_file (property_declaration name: (pattern (pattern (simple_identifier) @name)) value: (_)? @value)
  @definition.variable)

(typealias_declaration name: (type_identifier) @name) @definition.type
(associatedtype_declaration name: (type_identifier) @name) @definition.type
(operator_declaration (custom_operator) @name) @definition.operator
(macro_declaration "macro" . (simple_identifier) @name definition: (_)? @stop) @definition.macro

[(class_declaration (modifiers (attribute) @decorator))
 (protocol_declaration (modifiers (attribute) @decorator))
 (function_declaration (modifiers (attribute) @decorator))
 (protocol_function_declaration (modifiers (attribute) @decorator))
 (init_declaration (modifiers (attribute) @decorator))
 (subscript_declaration (modifiers (attribute) @decorator))
 (property_declaration (modifiers (attribute) @decorator))
 (protocol_property_declaration (modifiers (attribute) @decorator))
 (typealias_declaration (modifiers (attribute) @decorator))]
