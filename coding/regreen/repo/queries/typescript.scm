; What a definition is in TypeScript besides what is in ecmascript.scm.

[(class_body (decorator) @decorator)
 (public_field_definition (decorator) @decorator)
 (abstract_class_declaration (decorator) @decorator)]
(ambient_declaration (_) @declared) @wrapper
(ambient_declaration "global" @name (statement_block) @stop) @definition.namespace

[(internal_module name: (_) @name body: (_) @stop)
 (module name: (_) @name body: (_)? @stop)] @definition.namespace

(abstract_class_declaration name: (_) @name body: (_) @stop) @definition.class
(interface_declaration name: (_) @name body: (_) @stop) @definition.interface
(enum_declaration name: (_) @name body: (_) @stop) @definition.enum
(type_alias_declaration name: (_) @name value: (object_type)? @fold) @definition.type

[(function_signature name: (_) @name)] @definition.function

(class_body [(method_signature name: (_) @name) (abstract_method_signature name: (_) @name)] @definition.method)
(class_body (public_field_definition name: (_) @name value: (_)? @value) @definition.field)
(class_body (public_field_definition
  name: (_) @name value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop)]) @definition.method)

(interface_body (method_signature name: (_) @name) @definition.method)
(interface_body (property_signature name: (_) @name) @definition.field)

; variables in namespaces, each with the whole declaration
[(internal_module (statement_block (lexical_declaration
   kind: "const" (variable_declarator name: (identifier) @name value: (_)? @value)) @definition.constant))
 (module (statement_block (lexical_declaration
   kind: "const" (variable_declarator name: (identifier) @name value: (_)? @value)) @definition.constant))
 (ambient_declaration (lexical_declaration
   kind: "const" (variable_declarator name: (identifier) @name)) @definition.constant)
 (ambient_declaration (statement_block (lexical_declaration
   kind: "const" (variable_declarator name: (identifier) @name)) @definition.constant))]
[(internal_module (statement_block (lexical_declaration
   kind: "let" (variable_declarator name: (identifier) @name value: (_)? @value)) @definition.variable))
 (internal_module (statement_block (variable_declaration
   (variable_declarator name: (identifier) @name value: (_)? @value)) @definition.variable))
 (module (statement_block (lexical_declaration
   kind: "let" (variable_declarator name: (identifier) @name value: (_)? @value)) @definition.variable))
 (module (statement_block (variable_declaration
   (variable_declarator name: (identifier) @name value: (_)? @value)) @definition.variable))
 (ambient_declaration [(lexical_declaration kind: "let" (variable_declarator name: (identifier) @name))
                       (variable_declaration (variable_declarator name: (identifier) @name))] @definition.variable)
 (ambient_declaration (statement_block
   [(lexical_declaration kind: "let" (variable_declarator name: (identifier) @name))
    (variable_declaration (variable_declarator name: (identifier) @name))] @definition.variable))]

; objects that hold functions, seen as a type
(lexical_declaration
  (variable_declarator name: (identifier) @name "=" @stop
    value: [(as_expression (object [(method_definition) (pair value: [(arrow_function) (function_expression)])]))
            (satisfies_expression
              (object [(method_definition) (pair value: [(arrow_function) (function_expression)])]))] @members) @part)
  @definition.constant
[(as_expression (object (method_definition name: (_) @name body: (_) @stop) @definition.method))
 (satisfies_expression (object (method_definition name: (_) @name body: (_) @stop) @definition.method))]
[(as_expression (object (pair
   key: [(property_identifier) (string)] @name
   value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop)]) @definition.function))
 (satisfies_expression (object (pair
   key: [(property_identifier) (string)] @name
   value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop)]) @definition.function))]
