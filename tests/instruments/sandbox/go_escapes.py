# ruff: noqa: E501 - programs, a line each
"""Attempts of Go programs to leave the sandbox, when they are compiled or when they run.

The function `d` returns `out` if the attempt got out. CANARY is replaced by a file with a secret, PORT by an open port.
"""

CALL = """
func d(a []int, b string, c bool) (int, string, error) {
	if attempt() {
		return 1, "out", nil
	}
	return 0, "in", nil
}
"""

RUNNING = {
    "read a file": 'import "os"\nfunc attempt() bool { _, err := os.ReadFile("CANARY"); return err == nil }',
    "read the passwords": 'import "os"\nfunc attempt() bool { _, err := os.ReadFile("/etc/passwd"); return err == nil }',
    "list the root": 'import "os"\nfunc attempt() bool { found, err := os.ReadDir("/"); return err == nil && len(found) > 0 }',
    "write a file": 'import "os"\nfunc attempt() bool { return os.WriteFile("CANARY.new", []byte("x"), 0o600) == nil }',
    "write in the root": 'import "os"\nfunc attempt() bool { return os.WriteFile("/x", []byte("x"), 0o600) == nil }',
    "remove a file": 'import "os"\nfunc attempt() bool { return os.Remove("CANARY") == nil }',
    "read the environment": 'import "os"\nfunc attempt() bool { return os.Getenv("CANARY") != "" || os.Getenv("PATH") != "" }',
    "see processes": 'import "os"\nfunc attempt() bool { _, err := os.Stat("/proc/self"); return err == nil }',
    "start a program": """import "os"
func attempt() bool {
	_, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	return err == nil
}""",
    "kill the parent": """import "os"
func attempt() bool {
	for _, id := range []int{os.Getppid(), 1, -1} {
		if found, err := os.FindProcess(id); err == nil && found.Kill() == nil {
			return true
		}
	}
	return false
}""",
    "adopt inherited descriptors": """import "os"
func attempt() bool {
	for descriptor := uintptr(4); descriptor < 64; descriptor++ {
		data := make([]byte, 4096)
		if n, err := os.NewFile(descriptor, "x").ReadAt(data, 0); err == nil && n > 0 {
			return true
		}
	}
	return false
}""",
    "take all memory": """var kept [][]byte
func attempt() bool {
	for range 64 {
		block := make([]byte, 1<<26)
		for at := 0; at < len(block); at += 4096 {
			block[at] = 1
		}
		kept = append(kept, block)
	}
	return true
}""",
    "start goroutines for ever": """import "sync"
func attempt() bool {
	var lock sync.Mutex
	lock.Lock()
	for {
		go lock.Lock()
	}
}""",
    "run for ever": "func attempt() bool { for { } }",
    "recurse": "func attempt() bool { return attempt() && attempt() }",
    "flood": 'import "fmt"\nfunc attempt() bool { for { fmt.Println("out") } }',
    "exit with 0": 'import "os"\nfunc attempt() bool { os.Exit(0); return true }',
    "forge results": """import "os"
func attempt() bool {
	os.NewFile(3, "x").WriteString("{\\"outcome\\":{\\"total\\":3,\\"text\\":\\"b3V0\\"},\\"right\\":true}\\n")
	os.Exit(0)
	return false
}""",
    "panic before": 'func init() { panic("out") }\nfunc attempt() bool { return false }',
}

COMPILING = {
    "import the network": 'import "net"\nfunc attempt() bool { _, err := net.Dial("tcp", "127.0.0.1:PORT"); return err == nil }',
    "import system calls": 'import "syscall"\nfunc attempt() bool { return syscall.Kill(1, 9) == nil }',
    "link system calls": """import _ "unsafe"
//go:linkname call syscall.RawSyscall
func call(trap, a1, a2, a3 uintptr) (r1, r2, err uintptr)
func attempt() bool { _, _, err := call(57, 0, 0, 0); return err == 0 }""",
    "embed a file": 'import _ "embed"\n//go:embed canary.py\nvar text string\nfunc attempt() bool { return text != "" }',
    "call C": 'import "C"\nfunc attempt() bool { return C.getpid() > 0 }',
    "link a library": '//go:cgo_import_dynamic system system "libc.so.6"\nfunc attempt() bool { return false }\nvar x int = "no"',
    "include a line": "//line CANARY:1\nfunc attempt() bool { return undefined }",
    "fill the program": "var x = [1 << 40]byte{1}\nfunc attempt() bool { return x[1] == 0 }",
}
"""These do not compile, or compile and do nothing."""
