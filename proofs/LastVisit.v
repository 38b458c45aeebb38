(* Lemma B.4: hard attention finds the last visit of the cell that the head goes to, or the newest token if there is
   none, for every run of a head that moves by one cell. *)
From Coq Require Import QArith Qabs ZArith List Bool Arith Lqa Lia.
Require Import Transformer Attention Stream Visits Simulation.
Open Scope Q_scope.

(* Key j's product with query i: with x = 1/(i + 1) 1/(j + 1) and D = c(i + 1) - c(j), it is x (D + x/3). *)
Definition chi_of (ei ej D : Q) : Q := ei * ej * (D + ei * ej * (1 # 3)).
Definition chi (c : nat -> Z) (i j : nat) : Q := chi_of (inv i) (inv j) (inject_Z (c (S i) - c j)).
(* It is the product of what Q_3 makes of token i and K_3 of token j. *)
Lemma product_is c i j :
  let e := inv i in let e' := inv j in
  (e * inject_Z (c (S i))) * e' + e * (- (e' * inject_Z (c j))) + (e * e * (1 # 3)) * (e' * e') == chi c i j.
Proof. cbv zeta. unfold chi, chi_of, Z.sub. rewrite inject_Z_plus, inject_Z_opp. ring. Qed.

Section Arithmetic.
Variables ei ej : Q.
Hypothesis Hi : 0 < ei.
Hypothesis Hij : ei <= ej.
Hypothesis Hj : ej <= 1.

Lemma product : ei * ei <= ei * ej /\ ei * ej <= ei /\ 0 < ei * ej /\ ei * ej <= 1.
Proof. repeat split; nra. Qed.
(* a visit *)
Lemma hit : Qabs (chi_of ei ej 0) == ei * ej * (ei * ej) * (1 # 3) /\ Qabs (chi_of ei ej 0) <= ei * ei * (1 # 3).
Proof.
  destruct product as [A [B [C D]]]. assert (E : chi_of ei ej 0 == ei * ej * (ei * ej) * (1 # 3)) by (unfold chi_of; ring).
  assert (F : Qabs (chi_of ei ej 0) == ei * ej * (ei * ej) * (1 # 3)) by (rewrite E; apply Qabs_pos; nra).
  rewrite F. split; [reflexivity|nra].
Qed.
(* another cell *)
Lemma right_of D : 1 <= D -> Qabs (chi_of ei ej D) == chi_of ei ej D /\ ei * ej * (1 + ei * ej * (1 # 3)) <= chi_of ei ej D.
Proof.
  intros H. destruct product as [A [B [C E]]]. unfold chi_of. set (x := ei * ej) in *. clearbody x.
  split; [apply Qabs_pos|]; nra.
Qed.
Lemma left_of D : D <= -(1) -> Qabs (chi_of ei ej D) == - chi_of ei ej D /\ ei * ej * (1 - ei * ej * (1 # 3)) <= - chi_of ei ej D.
Proof.
  intros H. destruct product as [A [B [C E]]]. unfold chi_of. set (x := ei * ej) in *. clearbody x.
  assert (x * 1 <= x * (- D)) by nra. split; [apply Qabs_neg|]; nra.
Qed.
Lemma miss D : 1 <= D \/ D <= -(1) -> ei * ei * (1 # 3) < Qabs (chi_of ei ej D).
Proof.
  intros H. destruct product as [A [B [C E]]].
  assert (G : ei * ei * (1 # 3) < ei * ej * (1 - ei * ej * (1 # 3))) by (set (x := ei * ej) in *; clearbody x; nra).
  destruct H as [H|H]; [destruct (right_of D H) as [-> F]|destruct (left_of D H) as [-> F]]; [|lra].
  set (x := ei * ej) in *. clearbody x. nra.
Qed.
End Arithmetic.

Section LastVisit.
Variable c : nat -> Z.
Variable i : nat.
Hypothesis step : forall k, (k <= i)%nat -> c (S k) = (c k + 1)%Z \/ c (S k) = (c k - 1)%Z.

(* l(i + 1): the latest j <= i with c(j) = c(i + 1), or i if the head was never there *)
Definition latest (l : nat) : Prop :=
  (l <= i)%nat /\ (c l = c (S i) /\ (forall k, (l < k <= i)%nat -> c k <> c (S i)) \/ l = i /\ fresh c (S i) (c (S i))).

Lemma inv_le j : (j <= i)%nat -> inv i <= inv j.
Proof. intros H. destruct (Nat.eq_dec j i) as [->|]; [lra|]. pose proof (inv_lt j i ltac:(lia)). lra. Qed.

Theorem least l : latest l -> forall j, (j <= i)%nat -> j <> l -> Qabs (chi c i l) < Qabs (chi c i j).
Proof.
  intros [Hl [[Hc Hn]|[-> Hf]]] j Hj Hne; unfold chi; pose proof (inv_bounds i) as [I0 I1]; pose proof (inv_bounds j) as [J0 J1];
  pose proof (inv_le j Hj) as IJ.
  - rewrite Hc, Z.sub_diag. change (inject_Z 0) with 0.
    destruct (hit (inv i) (inv l) I0 (inv_le l Hl) (proj2 (inv_bounds l))) as [A B].
    destruct (Z.eq_dec (c j) (c (S i))) as [E|E].
    + rewrite E, Z.sub_diag. change (inject_Z 0) with 0. destruct (hit (inv i) (inv j) I0 IJ J1) as [A' _].
      assert (j < l)%nat by (destruct (Nat.lt_total j l) as [|[|G]]; [assumption|contradiction|exfalso; apply (Hn j); [lia|assumption]]).
      pose proof (inv_lt j l H). pose proof (inv_bounds l) as [L0 _]. rewrite A, A'.
      assert (inv i * inv l < inv i * inv j) by nra. assert (0 < inv i * inv l) by nra. nra.
    + assert (M : 1 <= inject_Z (c (S i) - c j) \/ inject_Z (c (S i) - c j) <= -(1)).
      { destruct (Z.lt_total (c j) (c (S i))) as [G|[G|G]]; [left|congruence|right].
        - change 1 with (inject_Z 1). rewrite <- Zle_Qle. lia.
        - change (-(1)) with (inject_Z (-1)). rewrite <- Zle_Qle. lia. }
      pose proof (miss (inv i) (inv j) I0 IJ J1 _ M). lra.
  - assert (H : (j < i)%nat) by lia. pose proof (inv_lt j i H) as Hlt.
    assert (Hf' : fresh c i (c (S i))) by (intros k Hk; apply Hf; lia).
    assert (Hs : forall k, (k < i)%nat -> c (S k) = (c k + 1)%Z \/ c (S k) = (c k - 1)%Z) by (intros; apply step; lia).
    assert (P : inv i * inv i < inv i * inv j) by nra. assert (P0 : 0 < inv i * inv i) by nra.
    assert (P1 : inv i * inv j <= 1) by nra.
    destruct (step i (Nat.le_refl i)) as [E|E].
    + pose proof (fresh_left c i Hs (c (S i)) ltac:(lia) Hf' j Hj) as G.
      replace (c (S i) - c i)%Z with 1%Z by lia. change (inject_Z 1) with 1.
      assert (D : 1 <= inject_Z (c (S i) - c j)) by (change 1 with (inject_Z 1); rewrite <- Zle_Qle; lia).
      destruct (right_of (inv i) (inv i) I0 ltac:(lra) I1 1 ltac:(lra)) as [-> _].
      destruct (right_of (inv i) (inv j) I0 IJ J1 _ D) as [-> F]. unfold chi_of at 1.
      set (x := inv i * inv i) in *. set (z := inv i * inv j) in *. clearbody x z. nra.
    + pose proof (fresh_right c i Hs (c (S i)) ltac:(lia) Hf' j Hj) as G.
      replace (c (S i) - c i)%Z with (-1)%Z by lia. change (inject_Z (-1)) with (-(1)).
      assert (D : inject_Z (c (S i) - c j) <= -(1)) by (change (-(1)) with (inject_Z (-1)); rewrite <- Zle_Qle; lia).
      destruct (left_of (inv i) (inv i) I0 ltac:(lra) I1 (-(1)) ltac:(lra)) as [-> _].
      destruct (left_of (inv i) (inv j) I0 IJ J1 _ D) as [-> F]. unfold chi_of at 1.
      set (x := inv i * inv i) in *. set (z := inv i * inv j) in *. clearbody x z. nra.
Qed.

(* So attention with these products, in any Transformer with the score -|<q, k>|, is the value of token l(i + 1). *)
Theorem attends T q (f : nat -> vec * vec) l k : absolute T = true ->
  (forall j, (j <= i)%nat -> dot T q (fst (f j)) == chi c i j) -> latest l ->
  att T q (map f (seq 0 (S i))) k == snd (f l) k.
Proof.
  intros HT Hdot Hl. apply att_index; [destruct Hl; lia|]. intros j Hj Hne.
  unfold score. rewrite HT, (Hdot j), (Hdot l) by (destruct Hl; lia).
  pose proof (least l Hl j ltac:(lia) Hne). lra.
Qed.
End LastVisit.
