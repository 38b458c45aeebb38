(* The evaluator as a program in OCaml: `execute` says that it gives the outputs of Equations 4 to 13. *)
From Coq Require Import QArith NArith List Extraction ExtrOcamlBasic.
Require Import Given Execute.
Require Weights WeightsDot.

Definition outputs_of (phi blanks : bool) (G : given) (back w : list N) (times : nat) : list (list Q) :=
  let X := prompt_of phi blanks G back w in
  if phi then executed Weights.U X Weights.seed times else executed WeightsDot.U X WeightsDot.seed times.
Extraction "engine.ml" outputs_of.
