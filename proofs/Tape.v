(* The whole tape in the outputs: pointers lead to the last visit of every cell, and its token tells what was written. *)
From Coq Require Import QArith ZArith NArith List Bool Arith Lqa Lia.
Require Import Transformer Codes Visits Machine Simulation.
Open Scope Q_scope.

(* k pointers, from token t: each has 1/(j + 1) for the next token j *)
Definition leads (y : nat -> vec) (pointer t k i : nat) : Prop :=
  exists path : nat -> nat, path O = t /\ path k = i /\
  forall j, (j < k)%nat -> y (path j) pointer == inv (path (S j)).
(* a token shows a state and a symbol, whose rule writes b *)
Definition writes (M : machine) (v : vec) (b : N) : Prop :=
  exists q a p d, v c_r == code2 q /\ v c_s == code1 a /\ action M q a = Some (p, b, d).

(* there is one such b *)
Lemma writes_one M v b b' : writes M v b -> writes M v b' -> b = b'.
Proof.
  intros [q [a [p [d [H1 [H2 H3]]]]]] [q' [a' [p' [d' [H1' [H2' H3']]]]]].
  destruct (sum_injective q a q' a') as [<- <-]; [lra|congruence].
Qed.

(* What `tape` says: the cells right of the head by the pointers R, those left of it by L, and the one under it is s. *)
Definition shows_tape (M : machine) (y : nat -> vec) (t : nat) (c : config) : Prop :=
  y t c_s == code1 (tape c (head c)) /\ forall k,
  (exists i, leads y c_R t (S k) i /\ writes M (y i) (tape c (head c + Z.of_nat (S k)))) /\
  (exists i, leads y c_L t (S k) i /\ writes M (y i) (tape c (head c - Z.of_nat (S k)))).

Section Tape.
Variables (U : transformer) (seed : vec).
Hypothesis HU : simulates U seed.
Variables (M : machine) (w : list N) (table : list (N * N)).
Hypothesis HM : normal M.
Hypothesis Hw : is_word M w.
Hypothesis Htable : whole_table M table.
Let y := output U (prompt (absolute U) M w table) seed.
Variables (t : nat) (c : config).
Hypothesis Hc : run M w t = Some c.

Lemma before i : (i <= t)%nat -> exists ci, run M w i = Some ci /\ shows M w (y i) i ci.
Proof.
  intros Hi. destruct (run_before M w t c Hc i Hi) as [ci H]. exists ci. split; [exact H|].
  pose proof (HU M w table HM Hw Htable i) as G. cbv zeta in G. rewrite H in G. exact G.
Qed.
Lemma written_before i : (i < t)%nat -> writes M (y i) (written M w i).
Proof.
  intros Hi. destruct (before i ltac:(lia)) as [ci [H [Hr [Hs _]]]].
  destruct (run_before M w t c Hc (S i) Hi) as [c' H'].
  destruct (run_action M w i c' H') as [c0 [p [b [d [H0 [Ha _]]]]]]. rewrite H in H0. injection H0 as <-.
  rewrite (written_of M w i ci p b d H Ha). exists (state ci), (read ci), p, d. auto.
Qed.

(* the last visit of a cell before time t, if there was one, is a token that tells the cell's symbol *)
Theorem visited x : (fresh (cell M w) t x /\ tape c x = input_tape w x) \/
  let i := last_visit (cell M w) t x in
  (i < t)%nat /\ cell M w i = x /\ (forall j, (i < j < t)%nat -> cell M w j <> x) /\ writes M (y i) (tape c x).
Proof.
  destruct (tape_at M w t c Hc x) as [[E F]|[E [_ F]]]; [right|left; auto].
  destruct (last_visit_spec (cell M w) t x) as [[A [B C]]|[_ G]]; [|contradiction].
  cbv zeta. rewrite E. auto using written_before.
Qed.

Lemma iter_below (f : nat -> nat) : (forall i, (f i <= i)%nat) -> forall k, (Nat.iter k f t <= t)%nat.
Proof.
  intros H k. induction k as [|k IH]; [apply Nat.le_refl|].
  change (f (Nat.iter k f t) <= t)%nat. pose proof (H (Nat.iter k f t)). lia.
Qed.

Theorem tape_shown : (length w < t)%nat -> shows_tape M y t c.
Proof.
  intros Ht. pose proof (tape_written M w HM Hw t c Hc Ht) as T.
  pose proof (cell_moves M w t c Hc) as Hmoves. pose proof (cell_of M w t c Hc) as Hh.
  assert (V : forall x, (last_visit (cell M w) t x < t)%nat).
  { intros x. destruct (last_visit_spec (cell M w) t x) as [[A _]|[A _]]; lia. }
  split.
  - destruct (before t ltac:(lia)) as [c' [H [_ [Hs _]]]]. rewrite Hc in H. injection H as <-. exact Hs.
  - intros k. split.
    + exists (Nat.iter (S k) (R (cell M w)) t). split.
      * exists (fun j => Nat.iter j (R (cell M w)) t). repeat split. intros j _.
        destruct (before (Nat.iter j (R (cell M w)) t)) as [cj [_ [_ [_ [_ [HR _]]]]]]; [|exact HR].
        apply iter_below. intros i. apply last_visit_le.
      * rewrite (iter_R _ _ Hmoves), Hh, T. apply written_before, V.
    + exists (Nat.iter (S k) (L (cell M w)) t). split.
      * exists (fun j => Nat.iter j (L (cell M w)) t). repeat split. intros j _.
        destruct (before (Nat.iter j (L (cell M w)) t)) as [cj [_ [_ [_ [_ [_ HL]]]]]]; [|exact HL].
        apply iter_below. intros i. apply last_visit_le.
      * rewrite (iter_L _ _ Hmoves), Hh, T. apply written_before, V.
Qed.
End Tape.
