; What a definition is in Rust. The captures are explained in languages.py.

(function_item name: (_) @name body: (_) @stop) @definition.function
(function_signature_item name: (_) @name) @definition.function
(macro_definition name: (identifier) @name @last) @definition.macro

(struct_item name: (type_identifier) @name body: (field_declaration_list)? @stop) @definition.struct
(union_item name: (type_identifier) @name body: (_) @stop) @definition.union
(enum_item name: (type_identifier) @name body: (_) @stop) @definition.enum
(trait_item name: (type_identifier) @name body: (_) @stop) @definition.trait
(mod_item name: (identifier) @name body: (_)? @stop) @definition.module
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
((const_item name: (identifier) @name value: (_)? @value) @definition.constant (#not-eq? @name "_"))
(static_item name: (identifier) @name value: (_)? @value) @definition.variable
(struct_item body: (field_declaration_list (field_declaration name: (_) @name) @definition.field))
(union_item body: (field_declaration_list (field_declaration name: (_) @name) @definition.field))

; what stands in an impl belongs to the type
(impl_item
  type: [(type_identifier) @name (primitive_type) @name (array_type) @name (tuple_type) @name (pointer_type) @name
         (function_type) @name (unit_type) @name (never_type) @name
         (scoped_type_identifier) @name @qualified
         (generic_type type: (_) @name @qualified)
         (dynamic_type trait: [(type_identifier) @name (scoped_type_identifier) @name @qualified
                               (generic_type type: (_) @name @qualified)])
         (reference_type type: [(type_identifier) @name (primitive_type) @name (array_type) @name (tuple_type) @name
                                (scoped_type_identifier) @name @qualified
                                (generic_type type: (_) @name @qualified)
                                (dynamic_type trait: (_) @name @qualified)])]) @definition.impl @scope

(source_file (attribute_item) @decorator)
(declaration_list (attribute_item) @decorator)
(field_declaration_list (attribute_item) @decorator)
(block (attribute_item) @decorator)
(ERROR (attribute_item) @decorator)
