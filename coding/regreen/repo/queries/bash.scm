; What a definition is in shell scripts. The captures are explained in languages.py.

(function_definition name: (word) @name body: (_) @stop) @definition.function

(program (variable_assignment name: (variable_name) @name "=" value: (_)? @value) @definition.variable)
(if_statement (variable_assignment name: (variable_name) @name "=" value: (_)? @value) @definition.variable)
(else_clause (variable_assignment name: (variable_name) @name "=" value: (_)? @value) @definition.variable)

; export A=1, readonly B=2 C=3, declare -r D=4
(declaration_command (variable_assignment name: (variable_name) @name "=" value: (_)? @value)) @definition.variable
(declaration_command
  "readonly" (variable_assignment name: (variable_name) @name "=" value: (_)? @value)) @definition.constant
(declaration_command
  . (word) @flags (variable_assignment name: (variable_name) @name "=" value: (_)? @value)
  (#match? @flags "^-[a-zA-Z]*r")) @definition.constant
