(* What the theorems rest on: Coq prints every axiom, and there is none. *)
Require EveryMachine EveryMachineDot EveryMachine16 Execute.

Print Assumptions Universal.universal.
Print Assumptions EveryMachine.every_machine.
Print Assumptions EveryMachine.every_language.
Print Assumptions UniversalDot.universal.
Print Assumptions EveryMachineDot.every_machine.
Print Assumptions EveryMachineDot.every_language.
Print Assumptions Universal16.universal.
Print Assumptions EveryMachine16.every_machine.
Print Assumptions EveryMachine16.every_language.
Print Assumptions Execute.execute.
