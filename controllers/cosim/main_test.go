package cosim

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// chatty prints to standard output, as a product's libraries might.
type chatty struct{ batches }

func (c *chatty) Start(s *Session) (Ready, error) {
	fmt.Println("starting")
	return c.batches.Start(s)
}

func TestMain(m *testing.M) {
	if os.Getenv("COSIM_PROCESS") != "" {
		Main(func() Product { return &chatty{} })
	}
	os.Exit(m.Run())
}

func process(lines ...string) (out, words string, code int) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "COSIM_PROCESS=1")
	command.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	command.Run()
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

func TestAProcessSaysNothingButAnswersAndEndsWell(t *testing.T) {
	out, words, code := process(hello, `{"run": {"until": 10000000}}`, `{"bye": {}}`)
	want := `{"ready":{"name":"batches","lookahead":5000000}}
{"now":5000002,"deploy":[{"target":0,"revision":2}],"passes":1,"requests":1,"status":"1 of 2"}
{"bye":{"requests":{"patch clusters":1},"passes":{"loop":1,"other":2}}}
`
	if out != want || code != 0 || !strings.Contains(words, "starting") {
		t.Errorf("exit code %d, answers\n%s\nand words\n%s", code, out, words)
	}
}

func TestAProcessEndsWithAnErrorThatItsInputCausedAndWhenItsInputEnds(t *testing.T) {
	out, words, code := process(hello, `{"run": {"until": -1}}`)
	if code != 1 || !strings.Contains(out, `{"error":{"message":"until must not be before`) || !strings.Contains(words, "until") {
		t.Errorf("exit code %d, answers\n%s\nand words\n%s", code, out, words)
	}
	if _, words, code = process(hello); code != 1 || !strings.Contains(words, "ended before bye") {
		t.Errorf("exit code %d and words\n%s", code, words)
	}
}
