(* One step of the network is one step of the machine, for any weights with the properties of `network`: both scores,
   -|<q, k>| and <q, k>, are instances (Universal.v, UniversalDot.v). *)
From Coq Require Import QArith Qabs ZArith NArith List Bool Arith Lqa Lia.
Import ListNotations.
Require Import Transformer Attention Stream Codes Visits Machine.
Open Scope Q_scope.

(* the coordinates; 19 and 20 are for positions *)
Notation c_r := 0%nat (only parsing).
Notation c_s := 1%nat (only parsing).
Notation c_on := 2%nat (only parsing).
Notation c_R := 3%nat (only parsing).
Notation c_L := 4%nat (only parsing).
Notation c_r2 := 5%nat (only parsing).
Notation c_w2 := 6%nat (only parsing).
Notation c_m2 := 7%nat (only parsing).
Notation c_on2 := 8%nat (only parsing).
Notation c_al := 9%nat (only parsing).
Notation c_r3 := 10%nat (only parsing).
Notation c_m3 := 11%nat (only parsing).
Notation c_on3 := 12%nat (only parsing).
Notation c_sel := 13%nat (only parsing).
Notation c_e_ := 14%nat (only parsing).
Notation c_one_ := 15%nat (only parsing).
Notation c_v := 16%nat (only parsing).
Notation c_RR := 17%nat (only parsing).
Notation c_LL := 18%nat (only parsing).

(* The prompt: a token for each symbol of the input, then one for each pair of a state and a symbol. A token's number
   kap stands in `on`, with 1 in `one_` where the score is -|<q, k>| (`phi`), and with kap^2 in `r` where it is <q, k>. *)
Definition key (phi : bool) (kap : Q) : vec := fun k => match k with
  | c_on => kap
  | c_one_ => if phi then 1 else 0
  | c_r => if phi then 0 else kap * kap
  | _ => 0 end.
Definition symbol_token (phi : bool) (a : N) : vec := fun k => match k with
  | c_al => code1 a
  | _ => key phi 5 k end.
Definition rule_token (phi : bool) (M : machine) (qa : N * N) : vec :=
  let (q, a) := qa in fun k => match k with
  | c_r2 => if accepting M q then 1 else match delta M q a with Some (p, _, _) => code2 p | None => 0 end
  | c_w2 => if accepting M q then code1 a else match delta M q a with Some (_, b, _) => code1 b | None => 0 end
  | c_m2 => match action M q a with Some (_, _, false) => -(1) | _ => 1 end
  | c_on2 => match action M q a with Some _ => 1 | None => 0 end
  | _ => key phi (code2 q + code1 a) k end.
Definition prompt (phi : bool) (M : machine) (w : list N) (table : list (N * N)) : list vec :=
  map (symbol_token phi) w ++ map (rule_token phi M) table.
Definition whole_table (M : machine) (table : list (N * N)) :=
  NoDup table /\ forall q a, (q < states M)%N -> (a < symbols M)%N -> In (q, a) table.

Definition num (j : nat) : Q := inject_Z (Z.of_nat (S j)).
Definition inv (j : nat) : Q := / num j.

Lemma num_pos j : 0 < num j.
Proof. unfold num, Qlt. cbn [Qnum Qden inject_Z]. lia. Qed.
Lemma num_ge_1 j : 1 <= num j.
Proof. unfold num, Qle. cbn [Qnum Qden inject_Z]. lia. Qed.
Lemma num_lt i j : (i < j)%nat -> num i < num j.
Proof. intros. unfold num, Qlt. cbn [Qnum Qden inject_Z]. lia. Qed.
Lemma inv_num j : inv j * num j == 1.
Proof. unfold inv. pose proof (num_pos j). field. lra. Qed.
Lemma inv_bounds j : 0 < inv j /\ inv j <= 1.
Proof.
  pose proof (num_ge_1 j). pose proof (inv_num j).
  assert (0 < inv j) by (apply Qinv_lt_0_compat, num_pos). split; [assumption|nra].
Qed.
Lemma inv_lt i j : (i < j)%nat -> inv j < inv i.
Proof.
  intros H. pose proof (num_lt i j H). pose proof (inv_num i). pose proof (inv_num j).
  pose proof (inv_bounds i). pose proof (inv_bounds j). pose proof (num_pos i).
  apply Qnot_le_lt. intros C. assert (inv j * num i < inv j * num j) by nra. assert (inv i * num i <= inv j * num i) by nra. lra.
Qed.
Lemma inv_inj i j : i <> j -> inv i < inv j \/ inv j < inv i.
Proof. intros H. destruct (Nat.lt_total i j) as [G|[G|G]]; [right|lia|left]; apply inv_lt, G. Qed.

(* y_t shows configuration c: state, symbol, running, and where the neighbour cells were last visited *)
Definition shows (M : machine) (w : list N) (v : vec) (t : nat) (c : config) : Prop :=
  v c_r == code2 (state c) /\ v c_s == code1 (read c) /\ v c_on == 1 /\
  v c_R == inv (R (cell M w) t) /\ v c_L == inv (L (cell M w) t).

(* after the last configuration: r = 1 if it accepts, and 0 for ever after *)
Definition verdict (M : machine) (w : list N) (t : nat) : Q :=
  match t with
  | O => 0
  | S t => match run M w t with Some c => if accepting M (state c) then 1 else 0 | None => 0 end
  end.

(* What `universal` says: for every machine in normal form, every word, every order of its table and every time t, y_t
   shows the machine's configuration at time t. *)
Definition simulates (U : transformer) (seed : vec) : Prop :=
  forall M w table, normal M -> is_word M w -> whole_table M table -> forall t,
  let y := output U (prompt (absolute U) M w table) seed in
  match run M w t with
  | Some c => shows M w (y t) t c
  | None => y t c_on == 0 /\ y t c_r == verdict M w t
  end.

(* a token that the score can tell by its kap, and one at place j *)
Definition marked (phi : bool) (x : vec) := if phi then x c_one_ == 1 else x c_r == x c_on * x c_on.
Definition placed (U : transformer) (j : nat) (x : vec) := forall k, (18 < k)%nat -> x k == pos U (S j) k.

Section Simulation.
Variables (U : transformer) (layer1 layer2 : layer) (e : nat) (seed : vec).

(* What the weights must do; e is the coordinate that has 1/(i + 1). *)
Record network : Prop := {
  no_encoder : encoder U = [];
  two_layers : decoder U = [layer1; layer2];
  e_high : (18 < e)%nat;
  pos_e : forall i, pos U (S i) e == inv i;
  pos_0 : forall i k, (k < 19)%nat -> pos U i k == 0;
  start : seed c_r == 0 /\ seed c_s == 0 /\ seed c_on == 1 /\ seed c_R == 1 /\ seed c_L == 1;
  start_rest : forall k, (5 <= k)%nat -> seed k == 0;
  (* layer 1 asks the prompt for the rule: kap = r + s *)
  rule_score : forall q x x', q c_on == 1 -> q c_e_ == 0 -> q c_one_ == 0 ->
    marked (absolute U) x -> marked (absolute U) x' -> x c_on == q c_r + q c_s -> ~ x' c_on == q c_r + q c_s ->
    score U q (forward (eK U) x') < score U q (forward (eK U) x);
  (* layer 2 asks it for token t, or for the last one before *)
  input_score : forall q t x i x' j, q c_r == 0 -> q c_s == 0 -> q c_on == 0 -> q c_e_ == inv t -> q c_one_ == 1 ->
    marked (absolute U) x -> placed U i x -> marked (absolute U) x' -> placed U j x' ->
    i = t /\ j <> t \/ (j < i < t)%nat ->
    score U q (forward (eK U) x') < score U q (forward (eK U) x);
  (* and the decoder for token P, where sel = 1/(P + 1) *)
  look_up_score : forall z P x x' j, z c_sel == inv P -> z c_one_ == 1 ->
    x c_one_ == 1 -> placed U P x -> x' c_one_ == 1 -> placed U j x' -> j <> P ->
    score U (forward (lQ layer2) z) (forward (lK layer2) x') < score U (forward (lQ layer2) z) (forward (lK layer2) x);
  (* what is found goes to its place *)
  eV_in : forall x k, (5 <= k <= 9)%nat -> forward (eV U) x k == x k;
  eV_out : forall x k, (k < 5 \/ 9 < k)%nat -> forward (eV U) x k == 0;
  V1 : forall x k, forward (lV layer1) x k == 0;
  V2_in : forall x, forward (lV layer2) x c_v == x c_w2 /\ forward (lV layer2) x c_RR == x c_R /\
    forward (lV layer2) x c_LL == x c_L;
  V2_out : forall x k, (k < 16 \/ 18 < k)%nat -> forward (lV layer2) x k == 0;
  O2 : forall x k, forward (lO layer2) x k == 0;
  F_out : forall x k, (5 <= k)%nat -> forward (oF U) x k == 0;
  (* the hidden units of O_1: running, they take the rule and choose the pointer to follow; halted, the gate is shut *)
  O1_keeps : forall u k, (2 < k < 10 \/ 15 < k)%nat -> forward (lO layer1) u k == 0;
  O1_running : forall u, 0 <= u c_r <= 1 -> 0 <= u c_s <= 1 -> u c_on == 1 -> 0 <= u c_R <= 1 -> 0 <= u c_L <= 1 ->
    0 <= u c_r2 <= 1 -> (u c_m2 == 1 \/ u c_m2 == -(1)) -> 0 <= u c_on2 <= 1 -> 0 <= u e <= 1 ->
    u c_r3 == 0 -> u c_m3 == 0 -> u c_on3 == 0 -> u c_sel == 0 -> u c_e_ == 0 -> u c_one_ == 0 ->
    let z := vadd (forward (lO layer1) u) u in
    z c_r == 0 /\ z c_s == 0 /\ z c_on == 0 /\ z c_e_ == u e /\ z c_one_ == 1 /\
    z c_r3 == u c_r2 /\ z c_m3 == u c_m2 /\ z c_on3 == u c_on2 /\
    (u c_m2 == 1 -> z c_sel == u c_R) /\ (u c_m2 == -(1) -> z c_sel == u c_L);
  O1_halted : forall u, u c_on == 0 -> u c_r2 <= 1 -> u c_on2 <= 1 -> u c_r3 == 0 -> u c_on3 == 0 ->
    let z := vadd (forward (lO layer1) u) u in z c_r3 == 0 /\ z c_on3 == 0;
  (* the hidden units of F: the next output *)
  F_state : forall z, 0 <= z c_r3 <= 1 -> 0 <= z c_on3 <= 1 ->
    forward (oF U) z c_r == z c_r3 /\ forward (oF U) z c_on == z c_on3;
  F_symbol : forall z, 0 <= z c_al + z c_v <= 1 -> forward (oF U) z c_s == z c_al + z c_v;
  F_right : forall z, z c_m3 == 1 -> 0 <= z c_RR <= 1 -> 0 <= z c_LL <= 1 -> 0 <= z e <= 1 ->
    forward (oF U) z c_R == z c_RR /\ forward (oF U) z c_L == z e;
  F_left : forall z, z c_m3 == -(1) -> 0 <= z c_RR <= 1 -> 0 <= z c_LL <= 1 -> 0 <= z e <= 1 ->
    forward (oF U) z c_R == z e /\ forward (oF U) z c_L == z c_LL }.

Hypothesis HU : network.
Section Given.
Variable M : machine.
Variable w : list N.
Variable table : list (N * N).
Hypothesis HM : normal M.
Hypothesis Hw : is_word M w.
Hypothesis Htable : whole_table M table.

Let n := length w.
Let N_ := (n + length table)%nat.
Local Notation phi := (absolute U).
Definition tok (j : nat) : vec := vadd (nth j (prompt phi M w table) vzero) (pos U (S j)).
Definition pair_of (j : nat) := (forward (eK U) (tok j), forward (eV U) (tok j)).
Let ext := map pair_of (seq 0 N_).

Lemma ext_encode : encode U (prompt phi M w table) = ext.
Proof.
  unfold encode, positioned, ext, prompt. rewrite (no_encoder HU). cbn [fold_left].
  rewrite map_map, app_length, !map_length. reflexivity.
Qed.

Let y := Stream.y U ext seed.
Let X i := vadd (y i) (pos U (S i)).
Let Z1 := on_stream U ext X layer1.
Let Z2 := on_stream U ext Z1 layer2.

Lemma y_next t : y (S t) = forward (oF U) (Z2 t).
Proof. unfold y. rewrite y_step, (two_layers HU). reflexivity. Qed.

(* tokens of the prompt *)
Lemma tok_symbol j k : (j < n)%nat -> tok j k == symbol_token phi (nth j w 0%N) k + pos U (S j) k.
Proof.
  intros H. unfold tok, vadd, prompt. rewrite app_nth1 by (rewrite map_length; exact H).
  rewrite nth_indep with (d' := symbol_token phi 0%N) by (rewrite map_length; exact H). rewrite map_nth. reflexivity.
Qed.
Lemma tok_rule j : (n <= j < N_)%nat ->
  exists qa, nth_error table (j - n) = Some qa /\ forall k, tok j k == rule_token phi M qa k + pos U (S j) k.
Proof.
  intros H. destruct (nth_error table (j - n)) as [qa|] eqn:E.
  - exists qa. split; [reflexivity|]. intros k. unfold tok, vadd, prompt. rewrite app_nth2 by (rewrite map_length; lia).
    rewrite map_length. fold n. erewrite nth_error_nth; [reflexivity|]. apply map_nth_error. exact E.
  - apply nth_error_None in E. unfold N_ in H. lia.
Qed.
Lemma tok_marked j : (j < N_)%nat -> marked phi (tok j).
Proof.
  intros H. unfold marked. assert (P : forall k, (k < 19)%nat -> pos U (S j) k == 0) by (intros; apply (pos_0 HU); assumption).
  destruct (Nat.lt_ge_cases j n) as [G|G].
  - destruct phi eqn:E; rewrite !tok_symbol, !P, E by lia; cbn [symbol_token key]; ring.
  - destruct (tok_rule j ltac:(lia)) as [[q a] [_ F]].
    destruct phi; rewrite !F, !P by lia; cbn [rule_token key]; ring.
Qed.
Lemma tok_placed j : (j < N_)%nat -> placed U j (tok j).
Proof.
  intros H k Hk. do 19 (destruct k as [|k]; [lia|]). destruct (Nat.lt_ge_cases j n) as [G|G].
  - rewrite tok_symbol by assumption. cbn [symbol_token key]. ring.
  - destruct (tok_rule j ltac:(lia)) as [[q a] [_ F]]. rewrite F. cbn [rule_token key]. ring.
Qed.

(* what F does not write is 0 *)
Lemma y_rest i k : (5 <= k)%nat -> y i k == 0.
Proof. intros H. destruct i as [|i]; [apply (start_rest HU), H|]. rewrite y_next. apply (F_out HU), H. Qed.
Lemma X_low i k : (k < 19)%nat -> X i k == y i k.
Proof. intros H. unfold X, vadd. pose proof (pos_0 HU (S i) k H). lra. Qed.
Lemma X_placed i : placed U i (X i).
Proof. intros k H. unfold X, vadd. pose proof (y_rest i k ltac:(lia)). lra. Qed.

(* layer 1: its own attention adds 0 *)
Lemma Z1_is i : exists p u : vec, (forall k, p k == X i k) /\ (forall k, u k = att U p ext k + p k) /\
  Z1 i = vadd (forward (lO layer1) u) u.
Proof.
  set (p := vadd (att U (forward (lQ layer1) (X i)) (pairs layer1 (map X (seq 0 (S i))))) (X i)).
  exists p, (vadd (att U p ext) p). repeat split. intros k. unfold p, vadd. rewrite att_zero; [ring|].
  intros v Hv. unfold pairs in Hv. apply in_map_iff in Hv. destruct Hv as [x [<- _]]. apply (V1 HU).
Qed.

(* the attention to the prompt adds what a token has in r2 w2 m2 on2 al, and nothing elsewhere *)
Lemma ext_out p k : (k < 5 \/ 9 < k)%nat -> att U p ext k == 0.
Proof.
  intros H. apply att_zero. intros v Hv. unfold ext in Hv. apply in_map_iff in Hv.
  destruct Hv as [j [<- _]]. apply (eV_out HU), H.
Qed.

Lemma rule_found p q a k : (q < states M)%N -> (a < symbols M)%N ->
  p c_r == code2 q -> p c_s == code1 a -> p c_on == 1 -> p c_e_ == 0 -> p c_one_ == 0 ->
  (5 <= k <= 9)%nat -> att U p ext k == rule_token phi M (q, a) k.
Proof.
  intros Hq Ha Hr Hs Hon He Hone Hk. destruct Htable as [Hnd Hall].
  destruct (In_nth_error _ _ (Hall q a Hq Ha)) as [m Hm].
  assert (Hml : (m < length table)%nat) by (apply nth_error_Some; congruence).
  assert (Hrule : forall l, tok (n + m) l == rule_token phi M (q, a) l + pos U (S (n + m)) l).
  { destruct (tok_rule (n + m) ltac:(unfold N_; lia)) as [qa [E F]].
    replace (n + m - n)%nat with m in E by lia. rewrite Hm in E. injection E as <-. exact F. }
  unfold ext. rewrite (att_index U p pair_of N_ (n + m)).
  - unfold pair_of. cbn [snd]. rewrite (eV_in HU), Hrule, (pos_0 HU) by lia. ring.
  - unfold N_. lia.
  - intros j Hj Hne. unfold pair_of. cbn [fst]. apply (rule_score HU); try assumption.
    + apply tok_marked. unfold N_. lia.
    + apply tok_marked, Hj.
    + rewrite Hrule, (pos_0 HU), Hr, Hs by lia. cbn [rule_token key]. ring.
    + rewrite Hr, Hs. intros E. pose proof (code1_bounds q). pose proof (code1_bounds a).
      destruct (Nat.lt_ge_cases j n) as [G|G].
      * rewrite tok_symbol, (pos_0 HU) in E by lia. cbn [symbol_token key] in E. unfold code2 in E. lra.
      * destruct (tok_rule j ltac:(lia)) as [[q' a'] [Hqa F]].
        rewrite F, (pos_0 HU) in E by lia. cbn [rule_token key] in E.
        destruct (sum_injective q' a' q a) as [-> ->]; [lra|].
        apply Hne. assert (j - n = m)%nat; [|lia].
        apply (proj1 (NoDup_nth_error table) Hnd); [apply nth_error_Some; congruence|congruence].
Qed.

Lemma rule_bounds q a : let f := rule_token phi M (q, a) in
  0 <= f c_r2 <= 1 /\ (f c_m2 == 1 \/ f c_m2 == -(1)) /\ 0 <= f c_on2 <= 1 /\ 0 <= f c_w2 <= 1.
Proof.
  cbn [rule_token]. unfold action, code2. pose proof (code1_bounds a).
  destruct (accepting M q); [repeat split; lra|].
  destruct (delta M q a) as [[[p b] d]|]; [|repeat split; lra].
  pose proof (code1_bounds p). pose proof (code1_bounds b). destruct d; repeat split; lra.
Qed.

Lemma layer1_running i q a ptrR ptrL : (q < states M)%N -> (a < symbols M)%N ->
  y i c_r == code2 q -> y i c_s == code1 a -> y i c_on == 1 -> y i c_R == ptrR -> y i c_L == ptrL ->
  0 <= ptrR <= 1 -> 0 <= ptrL <= 1 ->
  let f := rule_token phi M (q, a) in
  (Z1 i c_r == 0 /\ Z1 i c_s == 0 /\ Z1 i c_on == 0 /\ Z1 i c_e_ == inv i /\ Z1 i c_one_ == 1) /\
  (Z1 i c_R == ptrR /\ Z1 i c_L == ptrL /\ Z1 i c_w2 == f c_w2 /\ Z1 i c_al == 0) /\
  (Z1 i c_r3 == f c_r2 /\ Z1 i c_m3 == f c_m2 /\ Z1 i c_on3 == f c_on2) /\
  ((f c_m2 == 1 -> Z1 i c_sel == ptrR) /\ (f c_m2 == -(1) -> Z1 i c_sel == ptrL)) /\
  (Z1 i c_v == 0 /\ Z1 i c_RR == 0 /\ Z1 i c_LL == 0) /\ placed U i (Z1 i).
Proof.
  intros Hq Ha Hr Hs Hon HR HL R01 L01 f.
  destruct (Z1_is i) as [p [u [Hp [Hu Hz]]]].
  assert (Hlow : forall k, (k < 19)%nat -> p k == y i k) by (intros k Hk; rewrite Hp; apply X_low, Hk).
  assert (Hin : forall k, (5 <= k <= 9)%nat -> u k == f k).
  { intros k Hk. rewrite Hu, (Hlow k), y_rest by lia. rewrite (rule_found p q a k), ?Hlow, ?y_rest by (rewrite ?Hlow, ?y_rest by lia; auto with qarith; lia).
    unfold f. ring. }
  assert (Hout : forall k, (k < 5)%nat -> u k == y i k) by (intros k Hk; rewrite Hu, ext_out, Hlow by lia; ring).
  assert (Hmid : forall k, (9 < k < 19)%nat -> u k == 0).
  { intros k Hk. rewrite Hu, ext_out, Hlow, y_rest by lia. ring. }
  assert (Hhigh : placed U i u). { intros k Hk. rewrite Hu, ext_out, Hp, (X_placed i k Hk) by lia. ring. }
  assert (Hkeep : forall k, (2 < k < 10 \/ 15 < k)%nat -> Z1 i k == u k).
  { intros k Hk. rewrite Hz. unfold vadd. rewrite (O1_keeps HU) by exact Hk. ring. }
  destruct (rule_bounds q a) as [B1 [B2 [B3 B4]]]. fold f in B1, B2, B3, B4.
  pose proof (inv_bounds i) as I01. pose proof (code1_bounds q) as Cq. pose proof (code1_bounds a) as Ca.
  assert (He : u e == inv i) by (rewrite (Hhigh e (e_high HU)); apply (pos_e HU)).
  pose proof (Hin c_r2 ltac:(lia)) as E5. pose proof (Hin c_w2 ltac:(lia)) as E6.
  pose proof (Hin c_m2 ltac:(lia)) as E7. pose proof (Hin c_on2 ltac:(lia)) as E8.
  assert (E9 : u c_al == 0) by (rewrite Hin by lia; reflexivity).
  pose proof (Hout c_r ltac:(lia)) as E0. pose proof (Hout c_s ltac:(lia)) as E1. pose proof (Hout c_on ltac:(lia)) as E2.
  pose proof (Hout c_R ltac:(lia)) as E3. pose proof (Hout c_L ltac:(lia)) as E4. unfold code2 in Hr.
  destruct (O1_running HU u) as [O0 [O1 [O2 [O14 [O15 [O10 [O11 [O12 [OR OL]]]]]]]]];
    try (apply Hmid; lia); try (destruct B2; lra); try lra.
  rewrite <- Hz in *. rewrite (Hkeep c_R), (Hkeep c_L), (Hkeep c_w2), (Hkeep c_al), (Hkeep c_v), (Hkeep c_RR), (Hkeep c_LL) by lia.
  rewrite (Hmid c_v), (Hmid c_RR), (Hmid c_LL) by lia. repeat split; try lra.
  intros k Hk. rewrite Hkeep by lia. apply Hhigh, Hk.
Qed.

(* halted: the gate is shut, whatever the attention mixes *)
Lemma layer1_halted i : y i c_on == 0 -> Z1 i c_r3 == 0 /\ Z1 i c_on3 == 0.
Proof.
  intros Hon. destruct (Z1_is i) as [p [u [Hp [Hu Hz]]]].
  assert (Hlow : forall k, (5 <= k < 19)%nat -> p k == 0).
  { intros k Hk. rewrite Hp, X_low by lia. apply y_rest. lia. }
  assert (Hmean : forall k, (k = c_r2 \/ k = c_on2)%nat -> u k <= 1).
  { intros k Hk. rewrite Hu, (Hlow k) by lia.
    destruct (att_bounds U p ext k 0 1) as [_ G]; try lra.
    intros v Hv. unfold ext in Hv. apply in_map_iff in Hv. destruct Hv as [j [<- Hj]]. apply in_seq in Hj.
    unfold pair_of. cbn [snd]. rewrite (eV_in HU) by lia.
    destruct (Nat.lt_ge_cases j n) as [G|G].
    - rewrite tok_symbol, (pos_0 HU) by lia. destruct Hk as [->| ->]; cbn [symbol_token key]; lra.
    - destruct (tok_rule j ltac:(lia)) as [[q a] [_ F]]. rewrite F, (pos_0 HU) by lia.
      destruct (rule_bounds q a) as [B1 [_ [B3 _]]]. destruct Hk as [->| ->]; lra. }
  rewrite Hz. apply (O1_halted HU); auto; rewrite Hu, ext_out by lia; rewrite ?Hlow by lia; try ring.
  rewrite Hp, X_low by lia. lra.
Qed.

(* layer 2 *)
Definition look_up t := att U (forward (lQ layer2) (Z1 t)) (pairs layer2 (map Z1 (seq 0 (S t)))).
Definition p2 t := vadd (look_up t) (Z1 t).
Lemma Z2_is t k : Z2 t k == att U (p2 t) ext k + (look_up t k + Z1 t k).
Proof.
  unfold Z2, on_stream, token. cbv zeta. fold (look_up t). fold (p2 t).
  unfold vadd at 1. rewrite (O2 HU). unfold vadd at 1, p2 at 2, vadd at 1. ring.
Qed.
Lemma look_up_out t k : (k < 16 \/ 18 < k)%nat -> look_up t k == 0.
Proof.
  intros H. unfold look_up. apply att_zero. intros p Hp. unfold pairs in Hp. apply in_map_iff in Hp.
  destruct Hp as [v [<- _]]. apply (V2_out HU), H.
Qed.
Lemma Z2_keeps t k : (k < 5 \/ 9 < k < 16 \/ 18 < k)%nat -> Z2 t k == Z1 t k.
Proof. intros H. rewrite Z2_is, ext_out, look_up_out by lia. ring. Qed.

(* r and on of the next output do not depend on layer 2 *)
Lemma next_state t : 0 <= Z1 t c_r3 <= 1 -> 0 <= Z1 t c_on3 <= 1 ->
  y (S t) c_r == Z1 t c_r3 /\ y (S t) c_on == Z1 t c_on3.
Proof.
  rewrite y_next, <- (Z2_keeps t c_r3), <- (Z2_keeps t c_on3) by lia. apply (F_state HU).
Qed.

(* the pointer is followed *)
Lemma look_up_found t P k : (P <= t)%nat -> Z1 t c_sel == inv P ->
  (forall j, (j <= t)%nat -> Z1 j c_one_ == 1 /\ placed U j (Z1 j)) ->
  look_up t k == forward (lV layer2) (Z1 P) k.
Proof.
  intros HP Hsel Hall. unfold look_up, pairs. rewrite map_map.
  rewrite (att_index U _ (fun j => (forward (lK layer2) (Z1 j), forward (lV layer2) (Z1 j))) (S t) P k).
  - reflexivity.
  - lia.
  - intros j Hj Hne. cbn [fst]. destruct (Hall t ltac:(lia)) as [Ht _]. destruct (Hall j ltac:(lia)) as [Hj1 Hj2].
    destruct (Hall P HP) as [HP1 HP2]. apply (look_up_score HU) with (P := P) (j := j); assumption.
Qed.

(* the prompt's token min(t + 1, N), counted from 1 *)
Definition al t : Q := if (t <? n)%nat then code1 (nth t w 0%N) else 0.
Lemma table_nonempty : (0 < length table)%nat.
Proof.
  destruct Htable as [_ Hall]. pose proof (Hall 0%N 0%N (some_state M HM) (some_symbol M HM)) as H.
  destruct table; [destruct H|cbn; lia].
Qed.
Lemma input_found t p : p c_r == 0 -> p c_s == 0 -> p c_on == 0 -> p c_e_ == inv t -> p c_one_ == 1 ->
  att U p ext c_al == al t.
Proof.
  intros Hr Hs Hon He Hone. pose proof table_nonempty as Hne. set (J := Nat.min t (N_ - 1)).
  assert (HJ : (J < N_)%nat) by (unfold J, N_; lia).
  unfold ext. rewrite (att_index U p pair_of N_ J).
  - unfold pair_of. cbn [snd]. rewrite (eV_in HU) by lia. unfold al. destruct (Nat.ltb_spec t n) as [G|G].
    + replace J with t by (unfold J, N_; lia). rewrite tok_symbol, (pos_0 HU) by lia. cbn [symbol_token]. ring.
    + destruct (tok_rule J) as [[q a] [_ F]]; [unfold J, N_ in *; lia|].
      rewrite F, (pos_0 HU) by lia. cbn [rule_token key]. ring.
  - exact HJ.
  - intros j Hj Hj'. unfold pair_of. cbn [fst]. apply (input_score HU) with (t := t) (i := J) (j := j);
    try assumption; try (apply tok_marked; assumption); try (apply tok_placed; assumption). unfold J in *. lia.
Qed.

Local Notation cell := (Machine.cell M w).
Local Notation shows := (shows M w).

Lemma Z1_at t c : run M w t = Some c -> shows (y t) t c ->
  let f := rule_token phi M (state c, read c) in
  (Z1 t c_r == 0 /\ Z1 t c_s == 0 /\ Z1 t c_on == 0 /\ Z1 t c_e_ == inv t /\ Z1 t c_one_ == 1) /\
  (Z1 t c_R == inv (R cell t) /\ Z1 t c_L == inv (L cell t) /\ Z1 t c_w2 == f c_w2 /\ Z1 t c_al == 0) /\
  (Z1 t c_r3 == f c_r2 /\ Z1 t c_m3 == f c_m2 /\ Z1 t c_on3 == f c_on2) /\
  ((f c_m2 == 1 -> Z1 t c_sel == inv (R cell t)) /\ (f c_m2 == -(1) -> Z1 t c_sel == inv (L cell t))) /\
  (Z1 t c_v == 0 /\ Z1 t c_RR == 0 /\ Z1 t c_LL == 0) /\ placed U t (Z1 t).
Proof.
  intros H [Hr [Hs [Hon [HR HL]]]]. destruct (in_bounds M w HM Hw t c H) as [Bq Ba].
  pose proof (inv_bounds (R cell t)). pose proof (inv_bounds (L cell t)).
  apply layer1_running; try assumption; try lra. apply Ba.
Qed.

Lemma w2_written t c c' : run M w t = Some c -> run M w (S t) = Some c' ->
  rule_token phi M (state c, read c) c_w2 = code1 (written M w t).
Proof.
  intros H H'. destruct (run_action M w t c' H') as [c0 [p [b [d [H0 [Ha _]]]]]].
  rewrite H in H0. injection H0 as <-. rewrite (written_of M w t c p b d H Ha).
  cbn [rule_token]. unfold action in Ha. destruct (accepting M (state c)); [discriminate|]. rewrite Ha. reflexivity.
Qed.

Lemma start_shows : shows (y 0) 0 (initial w).
Proof. exact (start HU). Qed.

Lemma step_shows t c : (forall j c', (j <= t)%nat -> run M w j = Some c' -> shows (y j) j c') ->
  run M w (S t) = Some c -> shows (y (S t)) (S t) c.
Proof.
  intros IH H. destruct (run_action M w t c H) as [c0 [p [b [d [H0 [Ha [Hst [Hhd _]]]]]]]].
  destruct (Z1_at t c0 H0 (IH t c0 ltac:(lia) H0))
    as [[T0 [T1 [T2 [T14 T15]]]] [[T3 [T4 [T6 T9]]] [[T10 [T11 T12]] [[TR TL] [[T16 [T17 T18]] Tplace]]]]].
  set (P := followed M w d t).
  assert (HP : (P <= t)%nat) by (unfold P, followed, R, L; destruct d; apply last_visit_le).
  destruct (run_before M w (S t) c H P ltac:(lia)) as [cP RP].
  destruct (run_before M w (S t) c H (S P) ltac:(lia)) as [cP' RP'].
  destruct (Z1_at P cP RP (IH P cP HP RP)) as [_ [[P3 [P4 [P6 _]]] _]].
  rewrite (w2_written P cP cP' RP RP') in P6.
  set (f := rule_token phi M (state c0, read c0)) in *.
  assert (F : f c_r2 = code2 p /\ f c_m2 = (if d then 1 else -(1)) /\ f c_on2 = 1).
  { unfold f. cbn [rule_token]. rewrite Ha. unfold action in Ha.
    destruct (accepting M (state c0)); [discriminate|]. rewrite Ha. destruct d; auto. }
  destruct F as [F5 [F7 F8]]. rewrite F5 in T10. rewrite F7 in T11, TR, TL. rewrite F8 in T12.
  assert (Tsel : Z1 t c_sel == inv P).
  { unfold P, followed. destruct d; [apply TR|apply TL]; reflexivity. }
  assert (Hall : forall j, (j <= t)%nat -> Z1 j c_one_ == 1 /\ placed U j (Z1 j)).
  { intros j Hj. destruct (run_before M w (S t) c H j ltac:(lia)) as [cj Rj].
    destruct (Z1_at j cj Rj (IH j cj Hj Rj)) as [[_ [_ [_ [_ A]]]] [_ [_ [_ [_ B]]]]]. auto. }
  destruct (V2_in HU (Z1 P)) as [V16 [V17 V18]].
  assert (Z9 : Z2 t c_al == al t).
  { rewrite Z2_is, look_up_out, T9 by lia. rewrite (input_found t (p2 t)); [ring|..];
    unfold p2, vadd; rewrite look_up_out by lia; lra. }
  assert (Z16 : Z2 t c_v == code1 (written M w P)) by (rewrite Z2_is, ext_out, (look_up_found t P) by (assumption || lia); lra).
  assert (Z17 : Z2 t c_RR == inv (R cell P)) by (rewrite Z2_is, ext_out, (look_up_found t P) by (assumption || lia); lra).
  assert (Z18 : Z2 t c_LL == inv (L cell P)) by (rewrite Z2_is, ext_out, (look_up_found t P) by (assumption || lia); lra).
  assert (Z11 : Z2 t c_m3 == (if d then 1 else -(1))) by (rewrite Z2_keeps by lia; exact T11).
  assert (Z20 : Z2 t e == inv t).
  { pose proof (e_high HU). rewrite Z2_keeps, (Tplace e) by lia. apply (pos_e HU). }
  assert (Hsym : al t + code1 (written M w P) == code1 (read c)).
  { unfold al. destruct (next_symbol M w HM Hw t c0 p b d c H0 Ha H) as [[G [E1 E2]]|[G E]].
    - fold P in E2. destruct (Nat.ltb_spec t n) as [_|G']; [|unfold n in G'; lia]. rewrite E1, E2. cbn [code1]. ring.
    - fold P in E. destruct (Nat.ltb_spec t n) as [G'|_]; [unfold n in G'; lia|]. rewrite E. ring. }
  pose proof (cell_moves M w t c0 H0) as Hmoves.
  assert (Hcell : Machine.cell M w (S t) = (if d then Machine.cell M w t + 1 else Machine.cell M w t - 1)%Z).
  { rewrite (cell_of M w _ _ H), (cell_of M w _ _ H0). exact Hhd. }
  pose proof (code1_bounds p). pose proof (code1_bounds (read c)).
  pose proof (inv_bounds t). pose proof (inv_bounds (R cell P)). pose proof (inv_bounds (L cell P)).
  unfold Simulation.shows, code2 in *. rewrite Hst.
  destruct (next_state t) as [Y0 Y2]; [lra|lra|].
  pose proof (F_symbol HU (Z2 t) ltac:(lra)) as Y1.
  assert (Y34 : y (S t) c_R == inv (R cell (S t)) /\ y (S t) c_L == inv (L cell (S t))).
  { rewrite y_next. assert (EP : P = followed M w d t) by reflexivity. clearbody P. destruct d; cbn [followed] in EP; subst P.
    - rewrite (right_R cell t Hmoves Hcell), (right_L cell t Hcell).
      destruct (F_right HU (Z2 t)) as [A B]; lra.
    - rewrite (left_L cell t Hmoves Hcell), (left_R cell t Hcell).
      destruct (F_left HU (Z2 t)) as [A B]; lra. }
  rewrite <- y_next in Y1. repeat split; try apply Y34; lra.
Qed.

Lemma running t : forall c, run M w t = Some c -> shows (y t) t c.
Proof.
  induction t as [t IH] using lt_wf_ind. intros c H. destruct t as [|t].
  - cbn in H. injection H as <-. exact start_shows.
  - apply step_shows; [|exact H]. intros j c' Hj. apply IH. lia.
Qed.

Lemma halted t : run M w t = None -> y t c_on == 0 /\ y t c_r == verdict M w t.
Proof.
  induction t as [|t IH]; intros H; [discriminate|]. cbn [verdict]. cbn [run] in H.
  destruct (run M w t) as [c|] eqn:E.
  - destruct (Z1_at t c E (running t c E)) as [_ [_ [[T10 [_ T12]] _]]].
    cbn [rule_token] in T10, T12. unfold step in H.
    destruct (action M (state c) (read c)) as [[[p b] d]|] eqn:Ha; [discriminate|].
    unfold action in Ha. destruct (accepting M (state c)).
    + destruct (next_state t) as [A B]; lra.
    + rewrite Ha in T10. destruct (next_state t) as [A B]; lra.
  - destruct (IH eq_refl) as [Hon _]. destruct (layer1_halted t Hon) as [A B].
    destruct (next_state t) as [C D]; lra.
Qed.
End Given.

Theorem network_simulates : simulates U seed.
Proof.
  intros M w table HM Hw Ht t y. unfold y, output. rewrite ext_encode.
  destruct (run M w t) as [c|] eqn:E.
  - exact (running M w table HM Hw Ht t c E).
  - exact (halted M w table HM Hw Ht t E).
Qed.
End Simulation.

(* so the network has the machine's language *)
Theorem simulates_accepts U seed : simulates U seed -> forall M w table, normal M -> is_word M w -> whole_table M table ->
  (accepts M w <-> exists t, output U (prompt (absolute U) M w table) seed t c_r == 1).
Proof.
  intros HU M w table HM Hw Ht. split.
  - intros [t [c [H Ha]]]. exists (S t). pose proof (HU M w table HM Hw Ht (S t)) as G. cbv zeta in G.
    assert (E : run M w (S t) = None). { cbn [run]. rewrite H. unfold step, action. rewrite Ha. reflexivity. }
    rewrite E in G. destruct G as [_ G]. rewrite G. cbn [verdict]. rewrite H, Ha. reflexivity.
  - intros [t H]. pose proof (HU M w table HM Hw Ht t) as G. cbv zeta in G.
    destruct (run M w t) as [c|] eqn:E.
    + destruct G as [G _]. pose proof (code1_bounds (state c)). unfold code2 in G. lra.
    + destruct G as [_ G]. destruct t as [|t]; [discriminate|]. cbn [verdict] in G.
      destruct (run M w t) as [c|] eqn:F; [|lra]. destruct (accepting M (state c)) eqn:A; [|lra].
      exists t, c. auto.
Qed.

(* symbolic evaluation of weights *)
Ltac weights U layer1 layer2 :=
  cbv [U layer1 layer2 forward apply oF eK eV lQ lK lV lO entries bias fold_right fst snd Nat.eqb dot dim seq vadd].

(* sigma is 0, 1 or what it reads; linear arithmetic finds out which *)
Ltac units := repeat match goal with |- context [sigma ?x] =>
  let s := fresh "s" in let E := fresh "E" in
  first [ assert (E : sigma x == 0) by (apply sigma_0; lra)
        | assert (E : sigma x == x) by (apply sigma_id; lra)
        | assert (E : sigma x == 1) by (apply sigma_1; lra) ];
  generalize dependent (sigma x); intros s E end.

(* all properties of a network but the scores *)
Ltac coordinates U layer1 layer2 :=
  let each k := (do 21 (destruct k as [|k]; [weights U layer1 layer2; ring || lia|]); weights U layer1 layer2; ring || lia) in
  first
  [ reflexivity | lia
  | intros i; cbv [pos positions U fold_right Nat.eqb fst snd]; apply Qplus_0_r
  | intros i k H; cbv [pos positions U fold_right fst snd]; destruct (Nat.eqb_spec 19 k); [lia|];
    destruct (Nat.eqb_spec 20 k); [lia|]; reflexivity
  | repeat split; reflexivity
  | intros k H; do 5 (destruct k as [|k]; [lia|]); reflexivity
  | intros x k; intros; each k
  | intros x; repeat split; weights U layer1 layer2; ring
  | cbv zeta; intros; repeat split; intros; weights U layer1 layer2;
    repeat match goal with H : _ \/ _ |- _ => destruct H end; units; lra ].
