(* The stacks of the RNN of Theorem 2.3, for every base B > k: what sigma makes of a top, a pop and a push. *)
From Coq Require Import QArith ZArith List Bool Arith Lqa Lia.
Import ListNotations.
Require Import Transformer Attention.
Open Scope Q_scope.

Section Stacks.
Variable k : Z.  (* digits are 0 (the blank) to k - 1 *)
Variable B : Q.
Hypothesis Hk : (2 <= k)%Z.
Hypothesis HB : inject_Z k < B.

(* a stack, its top first; below its last digit it is blank for ever *)
Fixpoint number (s : list Z) : Q := match s with [] => 0 | d :: s => (number s + inject_Z d) / B end.
Definition stack (s : list Z) : Prop := Forall (fun d => (0 <= d < k)%Z) s.
Definition top (s : list Z) : Z := hd 0%Z s.

Definition tau : Q := (inject_Z k - 1) / (B - 1).
Definition gap : Q := 1 - tau.
Definition M : Q := (inject_Z k - 1) / gap.

Lemma k_2 : 2 <= inject_Z k.
Proof. change 2 with (inject_Z 2). rewrite <- Zle_Qle. exact Hk. Qed.
Lemma digit_bounds d : (0 <= d < k)%Z -> 0 <= inject_Z d <= inject_Z k - 1.
Proof.
  intros H. change 0 with (inject_Z 0). assert (inject_Z (k - 1) == inject_Z k - 1) as <-.
  { unfold Z.sub. rewrite inject_Z_plus. reflexivity. }
  rewrite <- !Zle_Qle. lia.
Qed.
Lemma tau_is : tau * (B - 1) == inject_Z k - 1.
Proof. pose proof k_2. unfold tau. field. lra. Qed.
Lemma tau_bounds : 0 < tau < 1.
Proof. pose proof k_2. pose proof tau_is. split; nra. Qed.
Lemma M_is : M * gap == inject_Z k - 1.
Proof. pose proof tau_bounds. unfold M. field. unfold gap. lra. Qed.
Lemma scaled x : x / B * B == x.
Proof. pose proof k_2. field. lra. Qed.

(* every stack is in [0, tau], and B times its number is its top and the stack below *)
Theorem number_bounds s : stack s -> 0 <= number s <= tau.
Proof.
  pose proof k_2. pose proof tau_is. pose proof tau_bounds. intros Hs. induction Hs as [|d s Hd _ IH]; cbn [number]; [lra|].
  pose proof (digit_bounds d Hd). pose proof (scaled (number s + inject_Z d)). split; nra.
Qed.
Theorem popped s : B * number s == inject_Z (top s) + number (tl s).
Proof.
  destruct s as [|d s]; cbn [number top hd tl]; [change (inject_Z 0) with 0; ring|].
  pose proof (scaled (number s + inject_Z d)). lra.
Qed.
Lemma stack_tl s : stack s -> stack (tl s).
Proof. intros H. destruct s; [exact H|]. inversion H; assumption. Qed.
Lemma stack_top s : stack s -> (0 <= top s < k)%Z.
Proof. intros H. destruct s; cbn; [lia|]. inversion H; assumption. Qed.

(* P[q, D, a]' = sigma((B X - a)/gap + 1 - M (1 - N)): whether the step enters q by D (N = 1) and the top is at least a *)
Definition top_neuron (X : Q) (a : Z) (N : Q) : Q := sigma ((B * X - inject_Z a) / gap + 1 - M * (1 - N)).

Lemma over_gap x : (x / gap) * gap == x.
Proof. pose proof tau_bounds. field. unfold gap. lra. Qed.
Theorem top_entered s a : stack s -> top_neuron (number s) a 1 == if (a <=? top s)%Z then 1 else 0.
Proof.
  intros Hs. pose proof tau_bounds as T. pose proof (number_bounds _ (stack_tl s Hs)) as Y. pose proof (popped s) as P.
  pose proof (over_gap (B * number s - inject_Z a)) as G. unfold top_neuron.
  assert (P0 : 0 < gap) by (unfold gap; lra). destruct (Z.leb_spec a (top s)) as [H|H].
  - apply sigma_1. rewrite Zle_Qle in H. nra.
  - apply sigma_0. assert (E : inject_Z (top s) + 1 <= inject_Z a).
    { change 1 with (inject_Z 1). rewrite <- inject_Z_plus, <- Zle_Qle. lia. }
    set (x := (B * number s - inject_Z a) / gap) in *. clearbody x. unfold gap in *. nra.
Qed.
Theorem top_not_entered s a : stack s -> (1 <= a)%Z -> top_neuron (number s) a 0 == 0.
Proof.
  intros Hs Ha. pose proof tau_bounds as T. pose proof (number_bounds _ (stack_tl s Hs)) as Y. pose proof (popped s) as P.
  pose proof (over_gap (B * number s - inject_Z a)) as G. pose proof M_is as HM. unfold top_neuron. apply sigma_0.
  pose proof (digit_bounds (top s) (stack_top s Hs)) as D.
  assert (A : 1 <= inject_Z a) by (change 1 with (inject_Z 1); rewrite <- Zle_Qle; exact Ha).
  set (x := (B * number s - inject_Z a) / gap) in *. clearbody x. assert (P0 : 0 < gap) by (unfold gap; lra).
  assert ((x + 1 - M * (1 - 0)) * gap <= 0); [|nra].
  setoid_replace ((x + 1 - M * (1 - 0)) * gap) with (x * gap + gap - M * gap) by ring. rewrite G, HM. unfold gap. lra.
Qed.

(* the neurons of a stack that keep it, push on it, or do not apply (N = 0) *)
Theorem kept s : stack s -> sigma (number s - (1 - 1)) == number s.
Proof. intros Hs. pose proof tau_bounds. pose proof (number_bounds s Hs). rewrite sigma_id; lra. Qed.
Theorem pushed s d : stack s -> (0 <= d < k)%Z -> sigma ((number s + inject_Z d) / B - (1 - 1)) == number (d :: s).
Proof. intros Hs Hd. apply (kept (d :: s)). constructor; assumption. Qed.
Theorem not_kept s : stack s -> sigma (number s - (1 - 0)) == 0.
Proof. intros Hs. pose proof tau_bounds. pose proof (number_bounds s Hs). apply sigma_0. lra. Qed.
Theorem not_pushed s : stack s -> sigma (number s / B - (1 - 0)) == 0.
Proof.
  intros Hs. pose proof k_2. pose proof tau_bounds. pose proof (number_bounds s Hs). pose proof (scaled (number s)).
  apply sigma_0. set (x := number s / B) in *. clearbody x. nra.
Qed.

(* the read-out B Rpop - P[q, R, 1] - ... - P[q, R, k - 1] is the stack without its top *)
Theorem read_out s : stack s ->
  B * number s - fold_right (fun a x => top_neuron (number s) (Z.of_nat a) 1 + x) 0 (seq 1 (Z.to_nat (k - 1))) ==
  number (tl s).
Proof.
  intros Hs. pose proof (stack_top s Hs) as Ht. rewrite popped.
  set (sum m n := fold_right (fun a x => top_neuron (number s) (Z.of_nat a) 1 + x) 0 (seq m n)).
  assert (Above : forall n m, (top s < Z.of_nat m)%Z -> sum m n == 0).
  { unfold sum. induction n as [|n IH]; intros m H; cbn [seq fold_right]; [reflexivity|].
    rewrite IH, (top_entered s _ Hs) by lia. destruct (Z.leb_spec (Z.of_nat m) (top s)); [lia|ring]. }
  assert (All : forall n m, (Z.of_nat m <= top s + 1)%Z -> sum m n == inject_Z (Z.min (Z.of_nat n) (top s + 1 - Z.of_nat m))).
  { induction n as [|n IH]; intros m Hm.
    - replace (Z.min (Z.of_nat 0) (top s + 1 - Z.of_nat m)) with 0%Z by lia. reflexivity.
    - change (sum m (S n)) with (top_neuron (number s) (Z.of_nat m) 1 + sum (S m) n). rewrite (top_entered s _ Hs).
      destruct (Z.leb_spec (Z.of_nat m) (top s)) as [H|H].
      + rewrite IH by lia. change 1 with (inject_Z 1). rewrite <- inject_Z_plus.
        replace (1 + Z.min (Z.of_nat n) (top s + 1 - Z.of_nat (S m)))%Z
          with (Z.min (Z.of_nat (S n)) (top s + 1 - Z.of_nat m)) by lia. reflexivity.
      + rewrite Above by lia. replace (Z.min (Z.of_nat (S n)) (top s + 1 - Z.of_nat m)) with 0%Z by lia. reflexivity. }
  fold (sum 1%nat (Z.to_nat (k - 1))). rewrite All by lia.
  replace (Z.min (Z.of_nat (Z.to_nat (k - 1))) (top s + 1 - Z.of_nat 1)) with (top s) by lia. ring.
Qed.
End Stacks.
