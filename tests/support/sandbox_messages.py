"""What runtimes say when the system refuses them something, and failures that only look like it; as they came."""

# ruff: noqa: E501

from __future__ import annotations

NO_NETWORK = {
    "python": """\
    def test_fetch():
>       urllib.request.urlopen("http://example.com")
E       urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>
/usr/lib/python3.11/urllib/request.py:1351: URLError""",
    "python-connect": 'OSError: [Errno 101] Network is unreachable\n  File "x.py", line 3, in test_it\n    s.connect(("1.1.1.1", 80))',
    "python-chain": """\
Traceback (most recent call last):
  File "urllib3/connection.py", line 174, in _new_conn
    conn = connection.create_connection(
socket.gaierror: [Errno -3] Temporary failure in name resolution

During handling of the above exception, another exception occurred:

requests.exceptions.ConnectionError: HTTPSConnectionPool(host='example.com', port=443): Max retries exceeded with url: / \
(Caused by NameResolutionError("<urllib3.connection.HTTPSConnection object at 0x7f>: Failed to resolve 'example.com' \
([Errno -3] Temporary failure in name resolution)"))""",
    "node": """\
  Error: getaddrinfo EAI_AGAIN registry.example.com
      at GetAddrInfoReqWrap.onlookup [as oncomplete] (node:dns:107:26) {
    errno: -3001, code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname: 'registry.example.com'
  }""",
    "node-fetch": """\
TypeError: fetch failed
    at node:internal/deps/undici/undici:12345:11
  [cause]: Error: connect ENETUNREACH 93.184.216.34:443
      at internalConnectMultiple (node:net:1114:18)""",
    "go": '--- FAIL: TestGet (0.00s)\n    get_test.go:12: Get "https://example.com/": dial tcp: lookup example.com: Temporary failure in name resolution',
    "go-udp": '    get_test.go:12: Get "http://example.com": dial tcp: lookup example.com on 10.0.0.2:53: dial udp 10.0.0.2:53: connect: network is unreachable',
    "rust": """\
thread 'tests::fetch' panicked at src/lib.rs:10:40:
called `Result::unwrap()` on an `Err` value: Os { code: 101, kind: NetworkUnreachable, message: "Network is unreachable" }""",
    "rust-dns": "called `Result::unwrap()` on an `Err` value: Custom { kind: Uncategorized, error: \"failed to lookup address "
    'information: Temporary failure in name resolution" }',
    "java": """\
java.net.UnknownHostException: example.com: Temporary failure in name resolution
	at java.base/java.net.Inet6AddressImpl.lookupAllHostAddr(Native Method)""",
    "java-cause": """\
org.springframework.web.client.ResourceAccessException: I/O error on GET request for "https://example.com"
	at org.springframework.web.client.RestTemplate.doExecute(RestTemplate.java:785)
Caused by: java.net.SocketException: Network is unreachable
	at java.base/sun.nio.ch.Net.connect0(Native Method)""",
    "ruby": """\
  1) Client fetches
     Failure/Error: Net::HTTP.get(URI("http://example.com"))
     SocketError:
       Failed to open TCP connection to example.com:80 (getaddrinfo: Temporary failure in name resolution)""",
    "ruby-connect": "Errno::ENETUNREACH: Network is unreachable - connect(2) for \"1.1.1.1\" port 80",
    "php": "file_get_contents(): php_network_getaddresses: getaddrinfo for example.com failed: Temporary failure in name resolution",
    "php-curl": "GuzzleHttp\\Exception\\ConnectException: cURL error 6: Could not resolve host: example.com",
    "dotnet": "System.Net.Http.HttpRequestException : Name or service not known (example.com:443)",
}  # fmt: skip

TCP_BLOCKED = {
    "python-bind": """\
    def test_serves():
>       server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
/usr/lib/python3.11/socketserver.py:472: in server_bind
    self.socket.bind(self.server_address)
E   PermissionError: [Errno 13] Permission denied""",
    "python-asyncio": "PermissionError: [Errno 13] error while attempting to bind on address ('127.0.0.1', 0): permission denied",
    "python-urlopen": "urllib.error.URLError: <urlopen error [Errno 13] Permission denied>",
    "node": """\
Error: listen EACCES: permission denied 127.0.0.1
    at Server.setupListenHandle [as _listen2] (node:net:1817:21) {
  code: 'EACCES', errno: -13, syscall: 'listen', address: '127.0.0.1' }""",
    "python-socket": """\
  File "/usr/lib/python3.11/socket.py", line 232, in __init__
    _socket.socket.__init__(self, family, type, proto, fileno)
PermissionError: [Errno 1] Operation not permitted""",
    "python-family": "OSError: [Errno 97] Address family not supported by protocol",
    "node-family": "Error: listen EAFNOSUPPORT: address family not supported 127.0.0.1",
    "go-family": "    x_test.go:3: listen tcp 127.0.0.1:0: socket: address family not supported by protocol",
    "java-family": "java.net.SocketException: Address family not supported by protocol",
    "node-connect": "Error: connect EACCES 127.0.0.1:5432 - Local (0.0.0.0:0)",
    "go": "    srv_test.go:9: listen tcp 127.0.0.1:0: bind: permission denied",
    "go-panic": "panic: httptest: failed to listen on a port: listen tcp6 [::1]:0: socket: operation not permitted",
    "rust": "called `Result::unwrap()` on an `Err` value: Os { code: 13, kind: PermissionDenied, message: \"Permission denied\" }\n"
    "   3: std::net::TcpListener::bind",
    "java": "java.net.SocketException: Permission denied (Bind failed)",
    "java-nio": "java.net.BindException: Permission denied\n\tat java.base/sun.nio.ch.Net.bind0(Native Method)",
    "ruby": "Errno::EACCES: Permission denied - bind(2) for \"127.0.0.1\" port 0",
    "php": "stream_socket_server(): Unable to connect to tcp://127.0.0.1:0 (Permission denied)",
    "dotnet": "System.Net.Sockets.SocketException (13): Permission denied",
}  # fmt: skip

READ_ONLY = {
    "python": "E   OSError: [Errno 30] Read-only file system: '/home/u/.cache/tool/x'",
    "node": "Error: EROFS: read-only file system, open '/home/u/.config/x.json'",
    "go": "    w_test.go:7: open /home/u/x: read-only file system",
    "rust": 'called `Result::unwrap()` on an `Err` value: Os { code: 30, kind: ReadOnlyFilesystem, message: "Read-only file system" }',
    "java": "java.nio.file.FileSystemException: /home/u/x: Read-only file system",
    "ruby": "Errno::EROFS: Read-only file system @ rb_sysopen - /home/u/x",
    "php": "file_put_contents(/home/u/x): Failed to open stream: Read-only file system",
}  # fmt: skip

WRITE_DENIED = {
    "python": "E   PermissionError: [Errno 13] Permission denied: '/home/u/.cache/tool/x'",
    "python-mac": "PermissionError: [Errno 1] Operation not permitted: '/Users/u/Library/x'",
    "node": "Error: EACCES: permission denied, mkdir '/home/u/.config/tool'",
    "go": "    w_test.go:7: open /home/u/x: permission denied",
    "java": "java.nio.file.AccessDeniedException: /home/u/x",
    "java-io": "java.io.FileNotFoundException: /home/u/x (Permission denied)",
    "ruby": "Errno::EACCES: Permission denied @ rb_sysopen - /home/u/x",
    "php": "file_put_contents(/home/u/x): Failed to open stream: Permission denied",
}

MEMORY = {
    "python": "E   MemoryError",
    "python-message": "numpy.core._exceptions._ArrayMemoryError: x\n\nDuring handling of the above exception, another exception occurred:\n"
    "MemoryError: Unable to allocate 12.0 GiB",
    "python-errno": "OSError: [Errno 12] Cannot allocate memory",
    "go": "fatal error: runtime: cannot allocate memory",
    "rust": "memory allocation of 8589934592 bytes failed",
    "ruby": "NoMemoryError: failed to allocate memory",
    "php": "PHP Fatal error:  Out of memory (allocated 2097152) (tried to allocate 4294967304 bytes) in x.php on line 3",
    "node": "FATAL ERROR: Committing semi space failed. Allocation failed - JavaScript heap out of memory",
    "cpp": "terminate called after throwing an instance of 'std::bad_alloc'",
}  # fmt: skip

FILE_SIZE = {
    "python": "OSError: [Errno 27] File too large",
    "node": "Error: EFBIG: file too large, write",
    "go": "    w_test.go:7: write /tmp/x: file too large",
    "rust": 'Os { code: 27, kind: FileTooLarge, message: "File too large" }',
    "java": "java.io.IOException: File too large",
    "ruby": "Errno::EFBIG: File too large @ io_write - /tmp/x",
}

FORKS = {
    "python": '    self.pid = _fork_exec(\nBlockingIOError: [Errno 11] Resource temporarily unavailable',
    "python-thread": "RuntimeError: can't start new thread",
    "node": "Error: spawn /usr/bin/git EAGAIN",
    "go": "    x_test.go:9: fork/exec /bin/ls: resource temporarily unavailable",
    "rust": 'thread panicked: failed to spawn thread: Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }',
    "java": 'java.io.IOException: Cannot run program "ls": error=11, Resource temporarily unavailable',
    "java-thread": "java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory or process limits reached",
    "ruby": "Errno::EAGAIN: Resource temporarily unavailable - fork(2)",
    "php": "Symfony\\Component\\Process\\Exception\\RuntimeException: Unable to fork [Resource temporarily unavailable]",
}  # fmt: skip

SHARED = {
    "python": """\
  File "/usr/lib/python3.11/multiprocessing/synchronize.py", line 57, in __init__
    sl = self._semlock = _multiprocessing.SemLock(
PermissionError: [Errno 13] Permission denied""",
    "python-shm": "PermissionError: [Errno 13] Permission denied: '/dev/shm/psm_1234'",
    "python-old": "ImportError: This platform lacks a functioning sem_open implementation, therefore, the required "
    "synchronization primitives needed will not function",
    "go": "open /dev/shm/x: permission denied",
}  # fmt: skip


ORDINARY = {
    "assert": "    def test_total():\n>       assert total([10, 20]) == 45\nE       assert 15 == 45\nE        +  where 15 = total([10, 20])",
    "assert-quotes": "E   AssertionError: assert 'OSError: [Errno 30] Read-only file system' == 'ok'",
    "assert-quotes-bare": "E   assert 'Network is unreachable' in ''",
    "assert-multi": "AssertionError: Lists differ\nFirst list contains: OSError: [Errno 101] Network is unreachable\n- getaddrinfo EAI_AGAIN x",
    "node-assert": "AssertionError [ERR_ASSERTION]: Got unwanted exception.\nActual message: \"connect EACCES 127.0.0.1:80\"",
    "jest": "expect(received).toBe(expected)\n\nExpected: \"ok\"\nReceived: \"EROFS: read-only file system, open '/x'\"",
    "rust-assert": "thread 'a' panicked at src/lib.rs:3:5:\nassertion `left == right` failed\n  left: \"Network is unreachable\"\n right: \"\"",
    "rust-old": "thread 'a' panicked at 'assertion failed: `(left == right)`\n left: `\"Cannot allocate memory\"`', src/lib.rs:3",
    "java-assert": "org.opentest4j.AssertionFailedError: expected: <ok> but was: <java.net.UnknownHostException: x>",
    "java-junit4": "org.junit.ComparisonFailure: expected:<[ok]> but was:<[Network is unreachable]>",
    "ruby-expect": "RSpec::Expectations::ExpectationNotMetError: expected: \"ok\"\n     got: \"Read-only file system\"",
    "ruby-rspec": "     Failure/Error: expect(x.error).to eq(nil)\n       expected: nil\n            got: \"Network is unreachable\"",
    "php-assert": "Failed asserting that 'Temporary failure in name resolution' is identical to 'ok'.",
    "go-plain": "    a_test.go:5: got 3, want 4",
    "key": "KeyError: 'connect'",
    "value": "ValueError: memory of the cell is 3",
    "missing": "FileNotFoundError: [Errno 2] No such file or directory: '/home/u/x'",
    "import": "ModuleNotFoundError: No module named 'network'",
    "zip": "java.nio.file.ReadOnlyFileSystemException",
    "php-limit": "PHP Fatal error:  Allowed memory size of 134217728 bytes exhausted (tried to allocate 65536 bytes)",
    "java-heap": "java.lang.OutOfMemoryError: Java heap space",
    "node-heap": "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
    "again": "BlockingIOError: [Errno 11] Resource temporarily unavailable",
    "http": "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: http://127.0.0.1:8000/",
    "upload": "werkzeug.exceptions.RequestEntityTooLarge: 413 Request Entity Too Large: File too large for this form",
    "timeout": "TimeoutError: timed out",
    "name": "TypeError: MemoryErrorHandler() takes no arguments",
    "source": "    def test_x():\n        raise_if('[Errno' in text)\nE   KeyError: 'a'",
    "empty": "",
}  # fmt: skip
