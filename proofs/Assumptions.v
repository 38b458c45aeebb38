(* What the theorems rest on: Coq prints every axiom, and there is none. *)
Require Universal UniversalDot EveryMachine16 Execute Tape LastVisit Stacks.

Print Assumptions Universal.universal.
Print Assumptions Universal.accepts_iff.
Print Assumptions Universal.every_machine.
Print Assumptions Universal.nothing_else.
Print Assumptions Universal.every_tape.
Print Assumptions Universal.every_language.
Print Assumptions UniversalDot.universal.
Print Assumptions UniversalDot.accepts_iff.
Print Assumptions UniversalDot.every_machine.
Print Assumptions UniversalDot.nothing_else.
Print Assumptions UniversalDot.every_tape.
Print Assumptions UniversalDot.every_language.
Print Assumptions Universal16.universal.
Print Assumptions Universal16.accepts_iff.
Print Assumptions EveryMachine16.every_machine.
Print Assumptions EveryMachine16.every_language.
Print Assumptions Execute.execute.
Print Assumptions Tape.visited.
Print Assumptions LastVisit.attends.
Print Assumptions Stacks.top_entered.
Print Assumptions Stacks.top_not_entered.
Print Assumptions Stacks.pushed.
Print Assumptions Stacks.read_out.
