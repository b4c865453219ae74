<?php
// Parses PHP files without running them: `php regreen_php_parse.php LIST`, where LIST is a JSON file of paths. Prints
// the first that cannot be parsed, as one line of JSON.

foreach (json_decode(file_get_contents($argv[1])) as $path) {
    try {
        token_get_all((string) @file_get_contents($path), TOKEN_PARSE);
    } catch (Error $e) {
        $found = ["path" => $path, "line" => $e->getLine(), "kind" => get_class($e), "message" => $e->getMessage()];
        echo json_encode($found, JSON_INVALID_UTF8_SUBSTITUTE), "\n";
        break;
    }
}
