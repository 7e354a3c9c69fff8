package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"fleetsim/controllers/cosim"
)

// controllers answer questions of the protocol.
type controllers interface {
	ask(cosim.Question) (cosim.Answer, error)
}

// process is a running controller process.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	last    tail
}

func start(command []string) (*process, error) {
	p := &process{command: exec.Command(command[0], command[1:]...)}
	p.command.Stderr = &p.last
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 1<<16)
	return p, p.command.Start()
}

func (p *process) ask(question cosim.Question) (answer cosim.Answer, err error) {
	line, err := json.Marshal(question)
	if err != nil {
		return answer, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return answer, err
	}
	if line, err = p.out.ReadBytes('\n'); err != nil {
		return answer, fmt.Errorf("no answer: %w", err)
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return answer, fmt.Errorf("%w in %s", err, line)
	}
	if answer.Error != nil {
		return answer, fmt.Errorf("the controllers refuse: %s", answer.Error.Message)
	}
	return answer, nil
}

// end waits for the process and returns its CPU time.
func (p *process) end() (time.Duration, error) {
	p.in.Close()
	err := p.command.Wait()
	return p.command.ProcessState.UserTime() + p.command.ProcessState.SystemTime(), err
}

func (p *process) words() string { return p.last.String() }

// tail keeps the last lines that were written to it.
type tail struct {
	mu   sync.Mutex
	text string
}

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += string(text)
	t.text = t.text[max(0, len(t.text)-2000):]
	return len(text), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.text)
}
