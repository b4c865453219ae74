; What a definition is in Go. The captures are explained in languages.py.

(function_declaration name: (identifier) @name body: (block)? @stop) @definition.function

(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @parent))
  name: (field_identifier) @name
  body: (block)? @stop) @definition.method

; type X ..., type ( X ...; Y ... )
(type_declaration . [(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)])
  @definition.type
(type_declaration "("
  [(type_spec name: (type_identifier) @name) (type_alias name: (type_identifier) @name)] @definition.type)
(type_declaration
  . (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @stop))) @definition.struct
(type_declaration
  . (type_spec name: (type_identifier) @name type: (interface_type "{" @stop))) @definition.interface
(type_declaration "("
  (type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @stop)) @definition.struct)
(type_declaration "("
  (type_spec name: (type_identifier) @name type: (interface_type "{" @stop)) @definition.interface)

; fields; an embedded one is called as its type
(type_spec type: (struct_type (field_declaration_list
  (field_declaration
    name: (field_identifier) @name
    type: [(struct_type (field_declaration_list) @stop) (interface_type "{" @stop) (_)]) @definition.field)))
(type_spec type: (struct_type (field_declaration_list
  (field_declaration !name type: [
    (type_identifier) @name
    (qualified_type name: (_) @name)
    (generic_type type: [(type_identifier) @name (qualified_type name: (_) @name)])]) @definition.field)))
(type_spec type: (interface_type (method_elem name: (field_identifier) @name) @definition.method))

(source_file (const_declaration . (const_spec (identifier) @name value: (_)? @value)) @definition.constant)
(source_file (const_declaration "(" (const_spec (identifier) @name value: (_)? @value) @definition.constant))

(source_file (var_declaration . (var_spec name: (identifier) @name value: (_)? @value)) @definition.variable)
(source_file (var_declaration (var_spec_list
  (var_spec name: (identifier) @name value: (_)? @value) @definition.variable)))
(source_file (var_declaration . (var_spec
  name: (identifier) @name type: (struct_type (field_declaration_list) @stop))) @definition.variable)
(source_file (var_declaration (var_spec_list (var_spec
  name: (identifier) @name type: (struct_type (field_declaration_list) @stop)) @definition.variable)))
