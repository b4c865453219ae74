; What C++ has besides C. The captures are explained in languages.py.

(namespace_definition name: (_) @name @qualified body: (_) @stop) @definition.namespace
(template_declaration (_) @declared .) @wrapper
(friend_declaration [(function_definition) (declaration)] @declared) @wrapper

(class_specifier name: [(type_identifier) @name (template_type name: (_) @name)] body: (_) @stop) @definition.class
(class_specifier name: (qualified_identifier) @declarator body: (_) @stop) @definition.class
(struct_specifier name: (template_type name: (_) @name) body: (_) @stop) @definition.struct
(struct_specifier name: (qualified_identifier) @declarator body: (_) @stop) @definition.struct
(union_specifier name: (template_type name: (_) @name) body: (_) @stop) @definition.union
(enum_specifier name: (qualified_identifier) @declarator body: (_) @stop) @definition.enum
(alias_declaration name: (type_identifier) @name) @definition.type
(concept_definition name: (identifier) @name) @definition.concept

(template_declaration (declaration declarator: (_) @declarator) @definition.declaration)
(field_declaration_list (declaration declarator: (_) @declarator) @definition.member)
(field_declaration_list (template_declaration (declaration declarator: (_) @declarator) @definition.member))
(friend_declaration (declaration declarator: (_) @declarator) @definition.member)
(field_declaration declarator: (_) @declarator default_value: (_) @value) @definition.member

; constructors: up to the initialisers; = default, = delete, = 0: to the end
(function_definition declarator: (_) @declarator (field_initializer_list) @stop) @definition.function
(function_definition declarator: (_) @declarator (try_statement) @stop) @definition.function
(function_definition
  declarator: (_) @declarator [(default_method_clause) (delete_method_clause) (pure_virtual_clause)])
  @definition.function

(class_specifier [(attribute_specifier) (attribute_declaration) (ms_declspec_modifier)] @decorator body: (_))
(struct_specifier (attribute_declaration) @decorator body: (_))
(alias_declaration (attribute_declaration) @decorator)
