; What a definition is in C#. The captures are explained in languages.py.

(namespace_declaration name: (_) @name body: (_) @stop) @definition.namespace
(file_scoped_namespace_declaration name: (_) @name) @definition.namespace @rest

(class_declaration name: (identifier) @name body: (_)? @stop) @definition.class
(struct_declaration name: (identifier) @name body: (_)? @stop) @definition.struct
(record_declaration name: (identifier) @name body: (_)? @stop) @definition.record
(interface_declaration name: (identifier) @name body: (_)? @stop) @definition.interface
(enum_declaration name: (identifier) @name body: (_)? @stop) @definition.enum
(delegate_declaration name: (identifier) @name) @definition.delegate

(method_declaration name: (identifier) @name body: (_)? @stop) @definition.method
(local_function_statement name: (identifier) @name body: (_)? @stop) @definition.function
(constructor_declaration name: (identifier) @name body: (_)? @stop) @definition.constructor
(destructor_declaration "~" @name name: (identifier) @name body: (_)? @stop) @definition.method
(operator_declaration "operator" @name operator: _ @name body: (_)? @stop) @definition.method
(conversion_operator_declaration "operator" @name type: (_) @name body: (_)? @stop) @definition.method

(property_declaration name: (identifier) @name accessors: (_) @stop) @definition.property
(property_declaration name: (identifier) @name value: (arrow_expression_clause) @stop) @definition.property
(indexer_declaration "this" @name accessors: (_)? @stop value: (_)? @stop) @definition.property
(event_declaration name: (identifier) @name accessors: (_)? @stop) @definition.event
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.event
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name "="? (_)? @value .)))
  @definition.field

[(class_declaration (attribute_list) @decorator)
 (struct_declaration (attribute_list) @decorator)
 (record_declaration (attribute_list) @decorator)
 (interface_declaration (attribute_list) @decorator)
 (enum_declaration (attribute_list) @decorator)
 (delegate_declaration (attribute_list) @decorator)
 (method_declaration (attribute_list) @decorator)
 (local_function_statement (attribute_list) @decorator)
 (constructor_declaration (attribute_list) @decorator)
 (destructor_declaration (attribute_list) @decorator)
 (operator_declaration (attribute_list) @decorator)
 (conversion_operator_declaration (attribute_list) @decorator)
 (property_declaration (attribute_list) @decorator)
 (indexer_declaration (attribute_list) @decorator)
 (event_declaration (attribute_list) @decorator)
 (event_field_declaration (attribute_list) @decorator)
 (field_declaration (attribute_list) @decorator)]
