package cosim

import (
	"encoding/json"
	"time"
)

// Messages of PROTOCOL.md, which defines their fields. Times are nanoseconds since the start of the run.

// Hello starts a run.
type Hello struct {
	Protocol int               `json:"protocol"`
	Run      string            `json:"run,omitempty"`
	Seed     uint64            `json:"seed,omitempty"`
	Targets  []Target          `json:"targets"`
	Files    map[string]string `json:"files,omitempty"`
	// Release and Files are those of the only application of a run without Applications.
	Release Release `json:"release,omitzero"`
	Latency Latency `json:"latency"`
	// Client is nil if it is left out: then the product's default applies.
	Client        *Client           `json:"client,omitempty"`
	ClusterGroups []ClusterGroup    `json:"clusterGroups,omitempty"`
	Settings      map[string]string `json:"settings,omitempty"`
	// Seen asks for Reply.Seen.
	Seen bool `json:"seen,omitempty"`
	// Applications are rolled out side by side, on the same targets.
	Applications []Application `json:"applications,omitempty"`
}

// Application is one of several applications. Its clusters are targets of Hello, by a list or a label selector of
// Kubernetes; without both, it is on all of them.
type Application struct {
	Name     string            `json:"name"`
	Clusters []int             `json:"clusters,omitempty"`
	Selector json.RawMessage   `json:"selector,omitempty"`
	Files    map[string]string `json:"files,omitempty"`
	Release  Release           `json:"release"`
	// Listed says that Clusters were given as a list. A session always has Clusters.
	Listed bool `json:"-"`
}

// Client is the limit of the controller's client, for each kind of object. A QPS of 0 means no limit.
type Client struct {
	QPS   float64 `json:"qps"`
	Burst int     `json:"burst"`
}

// ClusterGroup is a group of targets. Its selector is a Kubernetes label selector; without one the group is empty.
type ClusterGroup struct {
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels,omitempty"`
	Selector json.RawMessage   `json:"selector,omitempty"`
}

// Target is one cluster of the fleet.
type Target struct {
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels,omitempty"`
	Group    string            `json:"group,omitempty"`
	Revision *int              `json:"revision,omitempty"`
	Offline  bool              `json:"offline,omitempty"`
	Paused   bool              `json:"paused,omitempty"`
	// Registered is true if it is left out.
	Registered *bool `json:"registered,omitempty"`
}

// Release is a revision to roll out.
type Release struct {
	Name      string `json:"name,omitempty"`
	Installed int    `json:"installed,omitempty"`
	Revision  int    `json:"revision"`
	// At is when Revision is published, for one of several applications.
	At time.Duration `json:"at,omitempty"`
}

// Latency is the latency of the API server.
type Latency struct {
	Request  *time.Duration           `json:"request,omitempty"`
	Requests []time.Duration          `json:"requests,omitempty"`
	Verbs    map[string]time.Duration `json:"verbs,omitempty"`
	Watch    *time.Duration           `json:"watch,omitempty"`
	Spread   float64                  `json:"spread,omitempty"`
}

// Ready answers Hello.
type Ready struct {
	Name      string        `json:"name"`
	Version   string        `json:"version,omitempty"`
	Stages    [][]int       `json:"stages,omitempty"`
	Lookahead time.Duration `json:"lookahead,omitempty"`
	// Sees says whether replies have Seen.
	Sees bool `json:"sees,omitempty"`
}

// Run lets time pass.
type Run struct {
	Until time.Duration `json:"until"`
	News  []News        `json:"news,omitempty"`
}

// News is an event of the world.
type News struct {
	At *time.Duration `json:"at,omitempty"`
	// Application is the number of one of several applications; nil is the first.
	Application *int               `json:"application,omitempty"`
	Target      *int               `json:"target,omitempty"`
	Applied     *int               `json:"applied,omitempty"`
	Ready       *bool              `json:"ready,omitempty"`
	Failing     *string            `json:"failing,omitempty"`
	Offline     *bool              `json:"offline,omitempty"`
	Labels      *map[string]string `json:"labels,omitempty"`
	Selected    *bool              `json:"selected,omitempty"`
	Release     *int               `json:"release,omitempty"`
	Approve     *Approval          `json:"approve,omitempty"`
	Stop        *bool              `json:"stop,omitempty"`
}

// Approval is an approval by a person.
type Approval struct {
	Stage string `json:"stage"`
	When  string `json:"when"`
}

// Reply answers Run.
type Reply struct {
	Now        time.Duration  `json:"now"`
	Deploy     []Deploy       `json:"deploy,omitempty"`
	Next       *time.Duration `json:"next,omitempty"`
	Seen       []Seen         `json:"seen,omitempty"`
	Passes     int            `json:"passes,omitempty"`
	Requests   int            `json:"requests,omitempty"`
	Status     *string        `json:"status,omitempty"`
	Conditions []Condition    `json:"conditions,omitempty"`
	Completed  *int           `json:"completed,omitempty"`
	Failed     *string        `json:"failed,omitempty"`
	// Outcomes replaces Status, Completed and Failed where there are several applications.
	Outcomes []Outcome `json:"outcomes,omitempty"`
}

// Outcome is what the product reports of one of several applications; exactly one of the last three is set.
type Outcome struct {
	Application int     `json:"application"`
	Status      *string `json:"status,omitempty"`
	Completed   *int    `json:"completed,omitempty"`
	Failed      *string `json:"failed,omitempty"`
}

// Deploy is an instruction to a target, for one of several applications.
type Deploy struct {
	Application int `json:"application,omitempty"`
	Target      int `json:"target"`
	Revision    int `json:"revision"`
}

// Seen is a target that the product sees as ready with this revision, or no longer sees as ready.
type Seen struct {
	Application int  `json:"application,omitempty"`
	Target      int  `json:"target"`
	Revision    int  `json:"revision"`
	Ready       bool `json:"ready"`
}

// Condition is a condition of one of the product's objects.
type Condition struct {
	At        time.Duration `json:"at"`
	Object    string        `json:"object"`
	Condition string        `json:"condition"`
	Status    string        `json:"status"`
	Reason    string        `json:"reason,omitempty"`
	Message   string        `json:"message,omitempty"`
}

// Why asks why nothing of an application is deployed.
type Why struct {
	Application int `json:"application,omitempty"`
}

// Hold says why nothing is deployed.
type Hold struct {
	Rule        string `json:"rule"`
	Explanation string `json:"explanation"`
}

// Bye answers the last message.
type Bye struct {
	Requests map[string]int `json:"requests,omitempty"`
	Passes   map[string]int `json:"passes,omitempty"`
}

// Failure is an answer that ends the run.
type Failure struct {
	Message string `json:"message"`
}

// Question is a line to the controller. Exactly one of its fields is set.
type Question struct {
	Hello *Hello    `json:"hello,omitempty"`
	Run   *Run      `json:"run,omitempty"`
	Hold  *Why      `json:"hold,omitempty"`
	Bye   *struct{} `json:"bye,omitempty"`
}

// Answer is a line from the controller. At most one of its fields is set; without any it answers Run.
type Answer struct {
	Ready *Ready   `json:"ready,omitempty"`
	Hold  *Hold    `json:"hold,omitempty"`
	Bye   *Bye     `json:"bye,omitempty"`
	Error *Failure `json:"error,omitempty"`
	Reply
}
