(* Every Turing machine, stays and words with blanks included, by netwright's normal form. *)
From Coq Require Import QArith ZArith NArith List Bool Arith Lqa Lia.
Import ListNotations.
Require Import Transformer Codes Visits Machine Simulation EveryMachine Tape.

(* Machines as they are given: any start state, any blank, and moves to the left, to the right or none. *)
Inductive move := Left | Right | Stay.
Record given := {
  g_states : N;
  g_symbols : N;
  g_blank : N;
  g_start : N;
  g_accepting : N -> bool;
  g_delta : N -> N -> option (N * N * move) }.

Definition g_action (G : given) (q a : N) : option (N * N * move) :=
  if g_accepting G q then None else g_delta G q a.
Definition g_step (G : given) (c : config) : option config :=
  match g_action G (state c) (read c) with
  | None => None
  | Some (p, b, m) =>
    Some {| state := p;
            head := match m with Left => head c - 1 | Right => head c + 1 | Stay => head c end;
            tape := fun x => if (x =? head c)%Z then b else tape c x |}
  end.
(* the input begins under the head, in cell 1 *)
Definition g_initial (G : given) (w : list N) : config := {|
  state := g_start G;
  head := 1;
  tape := fun x => if (x <=? 0)%Z then g_blank G else nth (Z.to_nat (x - 1)) w (g_blank G) |}.
Fixpoint g_run (G : given) (w : list N) (t : nat) : option config :=
  match t with
  | O => Some (g_initial G w)
  | S t => match g_run G w t with None => None | Some c => g_step G c end
  end.
Definition g_accepts (G : given) (w : list N) :=
  exists t c, g_run G w t = Some c /\ g_accepting G (state c) = true.

Record g_proper (G : given) : Prop := {
  g_start_in : (g_start G < g_states G)%N;
  g_blank_in : (g_blank G < g_symbols G)%N;
  g_closed : forall q a p b m, (q < g_states G)%N -> (a < g_symbols G)%N ->
    g_delta G q a = Some (p, b, m) -> (p < g_states G)%N /\ (b < g_symbols G)%N }.
Definition g_word (G : given) (w : list N) := Forall (fun a => (a < g_symbols G)%N) w.

(* Stays: one new state for each target p of a stay, in any order (`back`), which goes back. So a stay is a step to the
   right and one to the left. Blanks: with `blanks`, # is a new symbol 0 on which every rule acts as on the blank, and
   symbol a becomes a + 1; without, the blank is 0, and the input has none. *)
Definition symbol_of (blanks : bool) (G : given) (a : N) : N :=
  if blanks then if (a =? 0)%N then g_blank G else (a - 1)%N else a.
Definition number_of (blanks : bool) (a : N) : N := if blanks then (a + 1)%N else a.
Fixpoint place (p : N) (back : list N) : N :=
  match back with [] => 0%N | x :: back => if (x =? p)%N then 0%N else (1 + place p back)%N end.

Definition moving (blanks : bool) (G : given) (back : list N) : machine := {|
  states := g_states G + N.of_nat (length back);
  symbols := if blanks then g_symbols G + 1 else g_symbols G;
  accepting := fun q => (q <? g_states G)%N && g_accepting G q;
  delta := fun q a =>
    if (q <? g_states G)%N then
      match g_action G q (symbol_of blanks G a) with
      | Some (p, b, Left) => Some (p, number_of blanks b, false)
      | Some (p, b, Right) => Some (p, number_of blanks b, true)
      | Some (p, b, Stay) => Some ((g_states G + place p back)%N, number_of blanks b, true)
      | None => None
      end
    else Some (nth (N.to_nat (q - g_states G)) back 0%N, number_of blanks (symbol_of blanks G a), false) |}.

Definition targets (G : given) (back : list N) : Prop :=
  Forall (fun p => (p < g_states G)%N) back /\
  forall q a p b, (q < g_states G)%N -> (a < g_symbols G)%N -> g_action G q a = Some (p, b, Stay) -> In p back.
Definition fits (blanks : bool) (G : given) (w : list N) : Prop :=
  blanks = true \/ g_blank G = 0%N /\ ~ In 0%N w.

(* the number of steps that t steps of the given machine become *)
Fixpoint clock (G : given) (w : list N) (t : nat) : nat :=
  match t with
  | O => O
  | S t => clock G w t + match g_run G w t with
    | Some c => match g_action G (state c) (read c) with Some (_, _, Stay) => 2 | _ => 1 end
    | None => 1 end
  end.

(* the machine of the prompt, and the prompt *)
Definition normal_form (blanks : bool) (G : given) (back : list N) : machine :=
  normalised (moving blanks G back) (g_start G).
Definition prompt_of (phi blanks : bool) (G : given) (back w : list N) : list vec :=
  let M := normal_form blanks G back in prompt phi M (map (number_of blanks) w) (all_pairs M).

Lemma place_in p back : In p back ->
  (place p back < N.of_nat (length back))%N /\ nth (N.to_nat (place p back)) back 0%N = p.
Proof.
  induction back as [|x back IH]; intros H; [destruct H|]. cbn [place length]. destruct (N.eqb_spec x p) as [->|E].
  - split; [lia|reflexivity].
  - destruct H as [H|H]; [contradiction|]. destruct (IH H) as [A B]. split; [lia|].
    rewrite N2Nat.inj_add. exact B.
Qed.

Section Given.
Variables (blanks : bool) (G : given) (back w : list N).
Hypothesis HG : g_proper G.
Hypothesis Hback : targets G back.
Hypothesis Hw : g_word G w.
Hypothesis Hfits : fits blanks G w.
Let M := moving blanks G back.
Let w' := map (number_of blanks) w.

Lemma symbol_number a : symbol_of blanks G (number_of blanks a) = a.
Proof. unfold symbol_of, number_of. destruct blanks; [|reflexivity]. destruct (N.eqb_spec (a + 1) 0); lia. Qed.
Lemma symbol_0 : symbol_of blanks G 0 = g_blank G.
Proof. unfold symbol_of. destruct blanks eqn:E; [reflexivity|]. destruct Hfits as [H|[H _]]; [discriminate|auto]. Qed.
Lemma symbol_in a : (a < symbols M)%N -> (symbol_of blanks G a < g_symbols G)%N.
Proof.
  pose proof (g_blank_in G HG). unfold symbol_of. cbn [symbols M moving]. destruct blanks; [|auto].
  destruct (N.eqb_spec a 0); lia.
Qed.
Lemma number_in a : (a < g_symbols G)%N -> (number_of blanks a < symbols M)%N.
Proof. unfold number_of. cbn [symbols M moving]. destruct blanks; lia. Qed.

Lemma g_action_in q a p b m : (q < g_states G)%N -> (a < g_symbols G)%N -> g_action G q a = Some (p, b, m) ->
  (p < g_states G)%N /\ (b < g_symbols G)%N.
Proof.
  unfold g_action. destruct (g_accepting G q); [discriminate|]. intros Hq Ha. apply (g_closed G HG); assumption.
Qed.

Lemma moving_proper : proper M (g_start G).
Proof.
  pose proof (g_start_in G HG) as Hs. pose proof (number_in _ (g_blank_in G HG)) as Hb. split.
  - cbn [states M moving]. lia.
  - lia.
  - intros q a p b d Hq Ha H. apply symbol_in in Ha. cbn [states delta M moving] in *.
    destruct (N.ltb_spec q (g_states G)) as [L|L].
    + destruct (g_action G q (symbol_of blanks G a)) as [[[p' b'] m]|] eqn:E; [|discriminate].
      destruct (g_action_in _ _ _ _ _ L Ha E) as [A B]. pose proof (number_in _ B).
      destruct m; injection H as <- <- <-; split; try assumption; try lia.
      destruct (place_in p' back); [|lia]. exact (proj2 Hback q _ p' b' L Ha E).
    + injection H as <- <- <-. split; [|apply number_in, Ha].
      assert (I : In (nth (N.to_nat (q - g_states G)) back 0%N) back) by (apply nth_In; lia).
      pose proof (proj1 Hback) as F. rewrite Forall_forall in F. specialize (F _ I). lia.
Qed.
Lemma moving_word : is_word M w'.
Proof.
  apply Forall_forall. intros a' H. apply in_map_iff in H. destruct H as [a [<- H]].
  pose proof (proj1 (Forall_forall _ _) Hw a H) as Ha. split; [|apply number_in, Ha].
  unfold number_of. destruct Hfits as [-> | [_ F]]; [lia|].
  assert (a <> 0%N) by (intros ->; contradiction). destruct blanks; lia.
Qed.

Lemma action_moving q a : (q < g_states G)%N -> action M q a =
  match g_action G q (symbol_of blanks G a) with
  | Some (p, b, Left) => Some (p, number_of blanks b, false)
  | Some (p, b, Right) => Some (p, number_of blanks b, true)
  | Some (p, b, Stay) => Some ((g_states G + place p back)%N, number_of blanks b, true)
  | None => None
  end.
Proof.
  intros H. apply N.ltb_lt in H. unfold action, g_action. cbn [accepting delta M moving]. rewrite H. cbn [andb].
  unfold g_action. destruct (g_accepting G q); reflexivity.
Qed.
Lemma action_back p a : In p back ->
  action M (g_states G + place p back) a = Some (p, number_of blanks (symbol_of blanks G a), false).
Proof.
  intros H. unfold action. cbn [accepting delta M moving].
  replace (g_states G + place p back <? g_states G)%N with false by (symmetry; apply N.ltb_ge; lia). cbn [andb].
  replace (g_states G + place p back - g_states G)%N with (place p back) by lia.
  destruct (place_in p back H) as [_ ->]. reflexivity.
Qed.

Lemma g_bounds t : forall c, g_run G w t = Some c ->
  (state c < g_states G)%N /\ forall x, (tape c x < g_symbols G)%N.
Proof.
  pose proof (g_blank_in G HG) as Hb. induction t as [|t IH]; intros c H.
  - injection H as <-. split; [apply HG|]. intros x. cbn [tape g_initial]. destruct (x <=? 0)%Z; [exact Hb|].
    destruct (nth_in_or_default (Z.to_nat (x - 1)) w (g_blank G)) as [I| ->]; [|exact Hb].
    exact (proj1 (Forall_forall _ _) Hw _ I).
  - cbn [g_run] in H. destruct (g_run G w t) as [c0|]; [|discriminate]. destruct (IH c0 eq_refl) as [I1 I2].
    unfold g_step in H. destruct (g_action G (state c0) (read c0)) as [[[p b] m]|] eqn:E; [|discriminate].
    destruct (g_action_in _ _ _ _ _ I1 (I2 (head c0)) E) as [A B]. injection H as <-. split; [exact A|].
    intros x. cbn [tape]. destruct (x =? head c0)%Z; auto.
Qed.

Lemma from_next c t c0 p b d : from M c t = Some c0 -> action M (state c0) (read c0) = Some (p, b, d) ->
  from M c (S t) = Some {| state := p; head := if d then head c0 + 1 else head c0 - 1;
                           tape := fun x => if (x =? head c0)%Z then b else tape c0 x |}.
Proof. intros H A. cbn [from]. rewrite H. unfold step. rewrite A. reflexivity. Qed.

(* after clock t steps, the moving machine is in the configuration that the given one has after t steps *)
Definition like (c c' : config) : Prop :=
  state c' = state c /\ head c' = head c /\ forall x, symbol_of blanks G (tape c' x) = tape c x.
Let begin := given_initial (g_start G) w'.

Lemma begins_like : like (g_initial G w) begin.
Proof.
  repeat split. intros x. cbn [tape begin given_initial g_initial]. unfold input_tape, w'.
  destruct (x <=? 0)%Z; [exact symbol_0|]. set (k := Z.to_nat (x - 1)).
  destruct (Nat.lt_ge_cases k (length w)) as [L|L].
  - rewrite nth_indep with (d' := number_of blanks (g_blank G)) by (rewrite map_length; exact L).
    rewrite map_nth. apply symbol_number.
  - rewrite !nth_overflow by (rewrite ?map_length; exact L). exact symbol_0.
Qed.

Lemma clock_follows t :
  match g_run G w t with
  | Some c => exists c', from M begin (clock G w t) = Some c' /\ like c c'
  | None => from M begin (clock G w t) = None
  end.
Proof.
  induction t as [|t IH]; [exists begin; split; [reflexivity|exact begins_like]|].
  cbn [g_run clock]. destruct (g_run G w t) as [c|] eqn:E.
  - destruct IH as [c' [H [Hs [Hh Ht]]]]. destruct (g_bounds t c E) as [Bq Ba].
    assert (A : action M (state c') (read c') = match g_action G (state c) (read c) with
      | Some (p, b, Left) => Some (p, number_of blanks b, false)
      | Some (p, b, Right) => Some (p, number_of blanks b, true)
      | Some (p, b, Stay) => Some ((g_states G + place p back)%N, number_of blanks b, true)
      | None => None end).
    { rewrite Hs, action_moving by exact Bq. unfold read. rewrite Hh, Ht. reflexivity. }
    unfold g_step. destruct (g_action G (state c) (read c)) as [[[p b] m]|] eqn:Ea.
    + destruct m.
      1,2: rewrite Nat.add_1_r, (from_next _ _ _ _ _ _ H A); eexists; split; [reflexivity|];
        repeat split; cbn [head tape]; rewrite ?Hh; try reflexivity;
        intros x; destruct (x =? head c)%Z; [apply symbol_number|apply Ht].
      replace (clock G w t + 2)%nat with (S (S (clock G w t))) by lia. pose proof (from_next _ _ _ _ _ _ H A) as H1.
      assert (I : In p back) by exact (proj2 Hback _ _ _ _ Bq (Ba (head c)) Ea).
      rewrite (from_next _ _ _ _ _ _ H1 (action_back p _ I)). eexists. split; [reflexivity|].
      repeat split; cbn [head tape read]; rewrite ?Hh; [lia|]. intros x.
      destruct (Z.eqb_spec x (head c + 1)) as [->|Ex].
      * destruct (Z.eqb_spec (head c + 1) (head c)); [lia|]. rewrite symbol_number. apply Ht.
      * destruct (x =? head c)%Z; [apply symbol_number|apply Ht].
    + rewrite Nat.add_1_r. cbn [from]. rewrite H. unfold step. rewrite A. reflexivity.
  - rewrite Nat.add_1_r. cbn [from]. rewrite IH. reflexivity.
Qed.

(* at other times it is in one of the new states *)
Lemma clock_only s : forall c', from M begin s = Some c' ->
  (exists t c, g_run G w t = Some c /\ clock G w t = s) \/
  (exists t c p b, g_run G w t = Some c /\ g_action G (state c) (read c) = Some (p, b, Stay) /\
    S (clock G w t) = s /\ (g_states G <= state c')%N).
Proof.
  induction s as [|s IH]; intros c' H; [left; exists O, (g_initial G w); auto|].
  cbn [from] in H. destruct (from M begin s) as [c0|] eqn:E; [|discriminate].
  destruct (IH c0 eq_refl) as [[t [c [Hr Hs]]]|[t [c [p [b [Hr [Ha [Hs _]]]]]]]].
  - pose proof (clock_follows t) as F. rewrite Hr, Hs, E in F. destruct F as [c0' [F [L1 [L2 L3]]]]. injection F as <-.
    destruct (g_bounds t c Hr) as [Bq Ba]. unfold step in H.
    rewrite L1, action_moving in H by exact Bq. unfold read in H. rewrite L2, L3 in H. fold (read c) in H.
    destruct (g_action G (state c) (read c)) as [[[p b] m]|] eqn:Ea; [|discriminate].
    destruct m.
    1,2: left; exists (S t); cbn [g_run clock]; rewrite Hr; unfold g_step; rewrite Ea; eexists; split; [reflexivity|lia].
    right. exists t, c, p, b. injection H as <-. repeat split; auto. cbn [state]. lia.
  - left. exists (S t). cbn [g_run clock]. rewrite Hr. unfold g_step. rewrite Ha. eexists. split; [reflexivity|lia].
Qed.

Lemma moving_accepts : g_accepts G w <-> given_accepts M (g_start G) w'.
Proof.
  split.
  - intros [t [c [H A]]]. pose proof (clock_follows t) as F. rewrite H in F. destruct F as [c' [F [L _]]].
    exists (clock G w t), c'. split; [exact F|]. cbn [accepting M moving]. rewrite L.
    destruct (g_bounds t c H) as [B _]. apply N.ltb_lt in B. rewrite B. exact A.
  - intros [s [c' [H A]]]. cbn [accepting M moving] in A. apply andb_prop in A. destruct A as [B A]. apply N.ltb_lt in B.
    destruct (clock_only s c' H) as [[t [c [Hr Hs]]]|[t [c [p [b [_ [_ [_ C]]]]]]]]; [|lia].
    exists t, c. split; [exact Hr|]. pose proof (clock_follows t) as F. rewrite Hr, Hs in F.
    destruct F as [c0 [F [L _]]]. unfold begin in F. rewrite H in F. injection F as <-. rewrite <- L. exact A.
Qed.

(* so the normal form is in that configuration 2n + 3 steps later *)
Lemma normal_form_follows t :
  let N_ := normal_form blanks G back in let s := (2 * length w + 3 + clock G w t)%nat in
  match g_run G w t with
  | Some c => exists c', run N_ w' s = Some c' /\ state c' = (state c + 3)%N /\ head c' = head c /\
      forall x, symbol_of blanks G (tape c' x) = tape c x
  | None => run N_ w' s = None
  end.
Proof.
  intros N_ s. pose proof (clock_follows t) as F. pose proof (follows M (g_start G) w' moving_word (clock G w t)) as H.
  cbv zeta in H. replace (length w') with (length w) in H by (symmetry; apply map_length). unfold begin in F.
  destruct (g_run G w t) as [c|].
  - destruct F as [c0 [F [L1 [L2 L3]]]]. rewrite F in H. destruct H as [c' [H [K1 [K2 K3]]]].
    exists c'. split; [exact H|]. rewrite K1, K2, L1, L2. repeat split. intros x. rewrite K3. apply L3.
  - rewrite F in H. exact H.
Qed.

(* a state's number tells whether it is at a step of the given machine *)
Lemma normal_form_only s c' : run (normal_form blanks G back) w' s = Some c' ->
  (3 <= state c' < g_states G + 3)%N -> exists t c, g_run G w t = Some c /\ s = (2 * length w + 3 + clock G w t)%nat.
Proof.
  intros H B. replace (length w) with (length w') by apply map_length.
  destruct (Nat.lt_ge_cases s (2 * length w' + 3)) as [L|L].
  - pose proof (early M (g_start G) w' moving_word s c' H L). lia.
  - pose proof (follows M (g_start G) w' moving_word (s - (2 * length w' + 3))) as F. cbv zeta in F.
    replace (2 * length w' + 3 + (s - (2 * length w' + 3)))%nat with s in F by lia.
    change (normalised M (g_start G)) with (normal_form blanks G back) in F. rewrite H in F.
    destruct (from M (given_initial (g_start G) w') (s - (2 * length w' + 3))) as [c0|] eqn:E; [|discriminate].
    destruct F as [c'' [F [K _]]]. injection F as <-.
    destruct (clock_only _ c0 E) as [[t [c [Hr Hs]]]|[t [c [p [b [_ [_ [_ C]]]]]]]]; [|lia].
    exists t, c. split; [exact Hr|]. lia.
Qed.
End Given.

(* at least one list of targets: all states *)
Lemma targets_all G : g_proper G -> targets G (upto (g_states G)).
Proof.
  intros HG. split; [apply Forall_forall; intros p; apply in_upto|]. intros q a p b Hq Ha H. apply in_upto.
  unfold g_action in H. destruct (g_accepting G q); [discriminate|]. apply (g_closed G HG _ _ _ _ _ Hq Ha H).
Qed.

Open Scope Q_scope.

(* What the theorems say. For every machine G and every word w, with n its length, y_{2n + 3 + clock t} shows what G's
   configuration is after t steps: its state, its symbol, that it runs or has halted, and its tape. *)
Definition every_machine_on (U : transformer) (seed : vec) : Prop :=
  forall blanks G back w, g_proper G -> targets G back -> g_word G w -> fits blanks G w -> forall t,
  let y := output U (prompt_of (absolute U) blanks G back w) seed (2 * length w + 3 + clock G w t) in
  match g_run G w t with
  | Some c => y c_r == code2 (state c + 3) /\ (exists a, y c_s == code1 a /\ symbol_of blanks G a = read c) /\ y c_on == 1
  | None => y c_on == 0
  end.
(* No other output shows a state of G. *)
Definition nothing_else_on (U : transformer) (seed : vec) : Prop :=
  forall blanks G back w, g_proper G -> targets G back -> g_word G w -> fits blanks G w -> forall s q,
  let y := output U (prompt_of (absolute U) blanks G back w) seed s in
  y c_on == 1 -> y c_r == code2 (q + 3) -> (q < g_states G)%N ->
  exists t c, g_run G w t = Some c /\ s = (2 * length w + 3 + clock G w t)%nat.
(* The tape: k pointers R lead to a token whose rule wrote the symbol k cells right of the head, and L to the left. *)
Definition every_tape_on (U : transformer) (seed : vec) : Prop :=
  forall blanks G back w, g_proper G -> targets G back -> g_word G w -> fits blanks G w -> forall t c k,
  let y := output U (prompt_of (absolute U) blanks G back w) seed in
  let wrote i x := exists b, writes (normal_form blanks G back) (y i) b /\ symbol_of blanks G b = tape c x in
  let s := (2 * length w + 3 + clock G w t)%nat in
  g_run G w t = Some c ->
  (exists i, leads y c_R s (S k) i /\ wrote i (head c + Z.of_nat (S k))%Z) /\
  (exists i, leads y c_L s (S k) i /\ wrote i (head c - Z.of_nat (S k))%Z).
(* The language. *)
Definition every_language_on (U : transformer) (seed : vec) : Prop :=
  forall blanks G back w, g_proper G -> targets G back -> g_word G w -> fits blanks G w ->
  (g_accepts G w <-> exists t, output U (prompt_of (absolute U) blanks G back w) seed t c_r == 1).

Section Network.
Variables (U : transformer) (seed : vec).
Hypothesis HU : simulates U seed.

Theorem simulates_machines : every_machine_on U seed.
Proof.
  intros blanks G back w HG Hb Hw Hf t y. pose proof (normal_form_follows blanks G back w HG Hb Hw Hf t) as F. cbv zeta in F.
  pose proof (HU _ _ _ (normalised_normal _ _ (moving_proper blanks G back w HG Hb Hf)) (moving_word blanks G back w Hw Hf)
    (all_pairs_whole _) (2 * length w + 3 + clock G w t)%nat) as H.
  cbv zeta in H. change (output U _ seed _) with y in H. fold (normal_form blanks G back) in H.
  destruct (g_run G w t) as [c|].
  - destruct F as [c' [E [Hs [Hh Ht]]]]. rewrite E in H. destruct H as [A [B [C _]]].
    rewrite Hs in A. repeat split; auto. exists (read c'). split; [exact B|]. unfold read. rewrite Hh. apply Ht.
  - rewrite F in H. apply H.
Qed.

Theorem simulates_nothing_else : nothing_else_on U seed.
Proof.
  intros blanks G back w HG Hb Hw Hf s q y Hon Hr Hq.
  pose proof (HU _ _ _ (normalised_normal _ _ (moving_proper blanks G back w HG Hb Hf)) (moving_word blanks G back w Hw Hf)
    (all_pairs_whole _) s) as H.
  cbv zeta in H. change (output U _ seed _) with y in H. fold (normal_form blanks G back) in H.
  destruct (run (normal_form blanks G back) (map (number_of blanks) w) s) as [c'|] eqn:E.
  - destruct H as [A _]. destruct (sum_injective (q + 3) 0 (state c') 0) as [B _]; [lra|].
    apply (normal_form_only blanks G back w HG Hb Hw Hf s c' E). lia.
  - destruct H as [A _]. lra.
Qed.

Theorem simulates_tapes : every_tape_on U seed.
Proof.
  intros blanks G back w HG Hb Hw Hf t c k y wrote s Hc. pose proof (normal_form_follows blanks G back w HG Hb Hw Hf t) as F.
  cbv zeta in F. rewrite Hc in F. destruct F as [c' [E [Hs [Hh Ht]]]].
  destruct (tape_shown U seed HU _ _ _ (normalised_normal _ _ (moving_proper blanks G back w HG Hb Hf))
    (moving_word blanks G back w Hw Hf) (all_pairs_whole _) s c' E) as [_ T]; [rewrite map_length; unfold s; lia|].
  destruct (T k) as [[i [A B]] [j [C D]]]. rewrite Hh in B, D.
  split; [exists i|exists j]; (split; [assumption|]); eexists; (split; [eassumption|apply Ht]).
Qed.

Theorem simulates_languages : every_language_on U seed.
Proof.
  intros blanks G back w HG Hb Hw Hf. rewrite (moving_accepts blanks G back w HG Hb Hw Hf).
  pose proof (moving_word blanks G back w Hw Hf) as Hw'. rewrite (normalised_accepts _ _ _ Hw').
  exact (simulates_accepts U seed HU _ _ _ (normalised_normal _ _ (moving_proper blanks G back w HG Hb Hf)) Hw' (all_pairs_whole _)).
Qed.
End Network.
