; What a definition is in Scala. The captures are explained in languages.py.

; annotations of declarations; those of parameters stay in the signature
[(class_definition (annotation) @decorator)
 (trait_definition (annotation) @decorator)
 (object_definition (annotation) @decorator)
 (enum_definition (annotation) @decorator)
 (function_definition (annotation) @decorator)
 (function_declaration (annotation) @decorator)
 (val_definition (annotation) @decorator)
 (val_declaration (annotation) @decorator)
 (var_definition (annotation) @decorator)
 (var_declaration (annotation) @decorator)
 (type_definition (annotation) @decorator)
 (given_definition (annotation) @decorator)]

(package_clause name: (_) @name body: (_) @stop) @definition.namespace
(package_object name: (_) @name body: (_)? @stop) @definition.object
(class_definition name: (_) @name body: (_)? @stop) @definition.class
(trait_definition name: (_) @name body: (_)? @stop) @definition.trait
(object_definition name: (_) @name body: (_)? @stop) @definition.object
(enum_definition name: (_) @name body: (_) @stop) @definition.enum

(function_definition name: (_) @name "="? @stop body: (_) @stop) @definition.function
(function_declaration name: (_) @name) @definition.function

; extension (x: T) gives T's name to what is in it
(extension_definition parameters: (parameters (parameter
  type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]))) @definition.extension @scope

(given_definition name: (_) @name "="? @stop body: (_)? @stop) @definition.function
(given_definition name: (_) @name "with" @stop body: (with_template_body)) @definition.object

(type_definition name: (_) @name) @definition.type

; values: none that are local
[(compilation_unit [(val_definition pattern: (identifier) @name value: (_) @value)
                    (val_definition pattern: (_ (identifier) @name) value: (_) @value)
                    (var_definition pattern: (identifier) @name value: (_) @value)
                    (var_definition pattern: (_ (identifier) @name) value: (_) @value)] @definition.variable)
 (template_body [(val_definition pattern: (identifier) @name value: (_) @value)
                 (val_definition pattern: (_ (identifier) @name) value: (_) @value)
                 (var_definition pattern: (identifier) @name value: (_) @value)
                 (var_definition pattern: (_ (identifier) @name) value: (_) @value)
                 (val_declaration name: (_) @name)
                 (var_declaration name: (_) @name)] @definition.variable)
 (enum_body [(val_definition pattern: (identifier) @name value: (_) @value)
             (var_definition pattern: (identifier) @name value: (_) @value)] @definition.variable)
 (with_template_body [(val_definition pattern: (identifier) @name value: (_) @value)
                      (var_definition pattern: (identifier) @name value: (_) @value)] @definition.variable)]

; an object without a name
(val_definition pattern: (identifier) @name value: (instance_expression (template_body) @stop) @members)
  @definition.variable
