; What a definition is in JavaScript besides what is in ecmascript.scm.

[(method_definition (decorator) @decorator) (field_definition (decorator) @decorator)]
(class_body (field_definition property: (_) @name value: (_)? @value) @definition.field)
(class_body (field_definition
  property: (_) @name value: [(arrow_function "=>" @stop) (function_expression body: (_) @stop)]) @definition.method)
