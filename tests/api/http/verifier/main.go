// Verifies a running server with the code that verifies Go's checksum database: golang.org/x/mod/sumdb, tlog and note.
//
// Usage: verifier HOST:PORT VERIFIER-KEY SEED TIMES
//
// The checkpoint is opened with the key; tiles are fetched until they give its root; at random places, so many times, the
// line must be in the tree, and the tree must begin with an older one: by tlog's own proofs, and by the server's.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"verifier/sumdb/note"
	"verifier/sumdb/tlog"
)

const height = 8

// A server is a log's HOST:PORT, without its name: net/http takes ten times as long to compile as what is verified.
type server string

func (s server) get(path string) ([]byte, error) {
	connection, err := net.Dial("tcp", string(s))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	fmt.Fprintf(connection, "GET /%s HTTP/1.0\r\nHost: %s\r\n\r\n", path, s)
	answer, err := io.ReadAll(connection)
	if err != nil {
		return nil, err
	}
	head, body, _ := bytes.Cut(answer, []byte("\r\n\r\n"))
	if status := strings.Fields(string(head)); len(status) < 2 || status[1] != "200" {
		return nil, fmt.Errorf("GET /%s: %q", path, answer)
	}
	return body, nil
}

// pathOf is tlog's path of a tile as C2SP's tlog-tiles writes it: without the height, and with entries for data.
func pathOf(tile tlog.Tile) string {
	path := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
	return strings.Replace(path, "tile/data/", "tile/entries/", 1)
}

func (s server) Height() int { return height }

func (s server) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	read := make([][]byte, len(tiles))
	for i, tile := range tiles {
		var err error
		if read[i], err = s.get(pathOf(tile)); err != nil {
			return nil, err
		}
	}
	return read, nil
}

func (s server) SaveTiles([]tlog.Tile, [][]byte) {}

// checkpoint is what the log has signed.
func (s server) checkpoint(key string) (tree tlog.Tree, err error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return tree, err
	}
	signed, err := s.get("checkpoint")
	if err != nil {
		return tree, err
	}
	opened, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return tree, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() || lines[3] != "" {
		return tree, fmt.Errorf("not a checkpoint of %s: %q", verifier.Name(), opened.Text)
	}
	if tree.N, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return tree, err
	}
	tree.Hash, err = tlog.ParseHash(lines[2])
	return tree, err
}

// entry is the line of a leaf, from the entries behind its tile.
func (s server) entry(tree tlog.Tree, leaf int64) ([]byte, error) {
	number := leaf >> height
	tile := tlog.Tile{H: height, L: -1, N: number, W: int(min(1<<height, tree.N-number<<height))}
	rest, err := s.get(pathOf(tile))
	if err != nil {
		return nil, err
	}
	for range leaf - number<<height {
		rest = rest[2+binary.BigEndian.Uint16(rest):]
	}
	return rest[2 : 2+binary.BigEndian.Uint16(rest)], nil
}

// proof is what the server itself says: its hashes, and the root of the older tree where there is one.
func (s server) proof(path string, numbers ...any) (hashes []tlog.Hash, older tlog.Hash, err error) {
	told, err := s.get(fmt.Sprintf(path, numbers...))
	if err != nil {
		return nil, older, err
	}
	var proof struct {
		Hashes []tlog.Hash `json:"hashes"`
		Older  tlog.Hash   `json:"from_root"`
	}
	err = json.Unmarshal(told, &proof)
	return proof.Hashes, proof.Older, err
}

func (s server) checkRecord(tree tlog.Tree, reader tlog.HashReader, leaf int64) error {
	line, err := s.entry(tree, leaf)
	if err != nil {
		return err
	}
	proof, err := tlog.ProveRecord(tree.N, leaf, reader)
	if err != nil {
		return err
	}
	hashes, _, err := s.proof("proofs/inclusion?position=%d&size=%d", leaf+1, tree.N)
	if err != nil {
		return err
	}
	if !slices.Equal(hashes, proof) {
		return fmt.Errorf("leaf %d: another proof than tlog's: %v", leaf, hashes)
	}
	return tlog.CheckRecord(hashes, tree.N, tree.Hash, leaf, tlog.RecordHash(line))
}

func (s server) checkTree(tree tlog.Tree, reader tlog.HashReader, size int64) error {
	root, err := tlog.TreeHash(size, reader)
	if err != nil {
		return err
	}
	proof, err := tlog.ProveTree(tree.N, size, reader)
	if err != nil {
		return err
	}
	hashes, older, err := s.proof("proofs/consistency?from=%d&to=%d", size, tree.N)
	if err != nil {
		return err
	}
	if older != root || !slices.Equal(hashes, proof) {
		return fmt.Errorf("size %d: another root or proof than tlog's: %v %v", size, older, hashes)
	}
	return tlog.CheckTree(hashes, tree.N, tree.Hash, size, root)
}

func (s server) verify(key string, seed uint64, times int) error {
	tree, err := s.checkpoint(key)
	if err != nil {
		return err
	}
	reader := tlog.TileHashReader(tree, s)
	if root, err := tlog.TreeHash(tree.N, reader); err != nil || root != tree.Hash {
		return fmt.Errorf("the root is %v, not %v: %v", root, tree.Hash, err)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for range times {
		leaf, size := random.Int64N(tree.N), 1+random.Int64N(tree.N)
		if err := s.checkRecord(tree, reader, leaf); err != nil {
			return fmt.Errorf("leaf %d: %w", leaf, err)
		}
		if err := s.checkTree(tree, reader, size); err != nil {
			return fmt.Errorf("size %d: %w", size, err)
		}
	}
	fmt.Printf("%d events, root %v: %d lines and %d older trees hold\n", tree.N, tree.Hash, times, times)
	return nil
}

func main() {
	seed, err := strconv.ParseUint(os.Args[3], 10, 64)
	times, failed := strconv.Atoi(os.Args[4])
	if err == nil && failed == nil {
		err = server(os.Args[1]).verify(os.Args[2], seed, times)
	}
	if err != nil || failed != nil {
		fmt.Fprintln(os.Stderr, err, failed)
		os.Exit(1)
	}
}
