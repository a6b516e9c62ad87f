// A worker without an SDK: the protocol of svc, which is JSON over a WebSocket, with Go's standard library.
package main

import (
	"bufio"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"os"
	"strings"
)

const (
	text  = 1
	final = 8
	ping  = 9
	pong  = 10
)

type socket struct {
	net.Conn
	in *bufio.Reader
}

func dial(address *url.URL) (*socket, error) {
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		return nil, err
	}
	key := make([]byte, 16)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
		address.Host, base64.StdEncoding.EncodeToString(key))
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(conn)
	head := textproto.NewReader(in)
	status, err := head.ReadLine()
	if err != nil {
		return nil, err
	}
	if _, err = head.ReadMIMEHeader(); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(status, "HTTP/1.1 101 ") {
		return nil, fmt.Errorf("the engine answered %s", status)
	}
	return &socket{conn, in}, nil
}

func (s *socket) send(opcode byte, payload []byte) error {
	head := []byte{0x80 | opcode}
	switch n := len(payload); {
	case n < 126:
		head = append(head, 0x80|byte(n))
	case n < 1<<16:
		head = append(head, 0x80|126, byte(n>>8), byte(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 0x80|127), uint64(n))
	}
	mask := make([]byte, 4)
	if _, err := rand.Read(mask); err != nil {
		return err
	}
	frame := append(head, mask...)
	for i, b := range payload {
		frame = append(frame, b^mask[i%4])
	}
	_, err := s.Write(frame)
	return err
}

func (s *socket) receive() (opcode byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err = io.ReadFull(s.in, head); err != nil {
		return
	}
	size := uint64(head[1] & 0x7f)
	if size >= 126 {
		more := make([]byte, map[uint64]int{126: 2, 127: 8}[size])
		if _, err = io.ReadFull(s.in, more); err != nil {
			return
		}
		size = binary.BigEndian.Uint64(append(make([]byte, 8-len(more)), more...))
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(s.in, payload)
	return head[0] & 0x0f, payload, err
}

func (s *socket) say(message any) error {
	encoded, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.send(text, encoded)
}

func run() error {
	address, err := url.Parse(os.Getenv("SVC_URL"))
	if err != nil {
		return err
	}
	engine, err := dial(address)
	if err != nil {
		return err
	}
	defer engine.Close()
	name := os.Getenv("SVC_WORKER_NAME")
	me := map[string]any{"name": name, "runtime": "go", "pid": os.Getpid()}
	_ = engine.say(map[string]any{"type": "invokefunction", "function_id": "engine::workers::register", "data": me, "action": map[string]any{"type": "void"}})
	if err := engine.say(map[string]any{"type": "registerfunction", "id": name + "::double"}); err != nil {
		return err
	}
	for {
		opcode, payload, err := engine.receive()
		if err != nil {
			return err
		}
		switch opcode {
		case ping:
			err = engine.send(pong, payload)
		case final:
			return nil
		case text:
			var call struct {
				Type         string                 `json:"type"`
				InvocationID string                 `json:"invocation_id"`
				FunctionID   string                 `json:"function_id"`
				Data         struct{ N int `json:"n"` } `json:"data"`
			}
			if err := json.Unmarshal(payload, &call); err != nil || call.Type != "invokefunction" {
				continue
			}
			result := map[string]any{"n": 2 * call.Data.N, "runtime": "go"}
			err = engine.say(map[string]any{"type": "invocationresult", "invocation_id": call.InvocationID, "function_id": call.FunctionID, "result": result})
		}
		if err != nil {
			return err
		}
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
