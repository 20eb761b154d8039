package relay

// systemEngines lists the engines that only this system has.
func systemEngines() []engineCase {
	loops := func(c LoopsConfig) func() Engine {
		return func() Engine {
			e, err := NewLoops(c)
			if err != nil {
				panic(err)
			}
			return e
		}
	}
	return []engineCase{
		{"loops", loops(LoopsConfig{Loops: 2})},
		{"loops without pipes", loops(LoopsConfig{Loops: 1, MaxPipes: -1})},
	}
}
