; What a definition is in Java. The captures are explained in languages.py.

; annotations of declarations; those of parameters stay in the signature
[(class_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (interface_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (enum_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (record_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (annotation_type_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (method_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (constructor_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (field_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (constant_declaration (modifiers [(annotation) (marker_annotation)] @decorator))
 (annotation_type_element_declaration (modifiers [(annotation) (marker_annotation)] @decorator))]

(module_declaration name: (_) @name body: (_) @stop) @definition.module
(class_declaration name: (_) @name body: (_) @stop) @definition.class
(interface_declaration name: (_) @name body: (_) @stop) @definition.interface
(enum_declaration name: (_) @name body: (_) @stop) @definition.enum
(record_declaration name: (_) @name body: (_) @stop) @definition.record
(annotation_type_declaration name: (_) @name body: (_) @stop) @definition.annotation

; a constant with a body of its own gives its name to what is in there
(enum_constant name: (_) @name body: (_) @stop) @definition.object @scope

(method_declaration name: (_) @name body: (_)? @stop) @definition.method
(constructor_declaration name: (_) @name body: (_) @stop) @definition.method
(annotation_type_element_declaration name: (_) @name) @definition.method

(field_declaration declarator: (variable_declarator name: (_) @name value: (_)? @value)) @definition.field
(constant_declaration declarator: (variable_declarator name: (_) @name value: (_)? @value)) @definition.field

; an object of a class without a name
(field_declaration declarator: (variable_declarator
  name: (_) @name value: (object_creation_expression (class_body) @stop) @members)) @definition.field
