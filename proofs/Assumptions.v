(* What the theorems rest on: Coq prints every axiom, and there is none. *)
Require EveryMachine EveryMachineDot Execute.

Print Assumptions Universal.universal.
Print Assumptions EveryMachine.every_machine.
Print Assumptions EveryMachine.every_language.
Print Assumptions UniversalDot.universal.
Print Assumptions EveryMachineDot.every_machine.
Print Assumptions EveryMachineDot.every_language.
Print Assumptions Execute.execute.
