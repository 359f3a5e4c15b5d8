(* The rules of roofline-checker, each proven once over Flocq's IEEE-754 binary64.

   A certificate is a list of facts, and each follows from earlier ones by one of these lemmas. Facts speak of floats as they
   are computed, rounded to nearest even; finiteness is part of each, so nothing overflows where a fact holds. *)

From Coq Require Import ZArith Reals Lra Lia Bool.
From Flocq Require Import Core BinarySingleNaN Plus_error Mult_error Relative.

Open Scope R_scope.

(* Floats and their operations. *)

Definition precision : Z := 53.
Definition largest_exponent : Z := 1024.

#[global] Instance precision_positive : Prec_gt_0 precision. Proof. reflexivity. Qed.
#[global] Instance precision_below : Prec_lt_emax precision largest_exponent. Proof. reflexivity. Qed.

Definition f64 := binary_float precision largest_exponent.
(* m * 2^e, rounded; every constant of a contract is such a number exactly. *)
Definition num (m e : Z) : f64 :=
  binary_normalize precision largest_exponent precision_positive precision_below mode_NE m e false.

Definition neg (x : f64) : f64 := Bopp x.
Definition add (x y : f64) : f64 := Bplus mode_NE x y.
Definition sub (x y : f64) : f64 := Bminus mode_NE x y.
Definition mul (x y : f64) : f64 := Bmult mode_NE x y.
Definition div (x y : f64) : f64 := Bdiv mode_NE x y.
Definition lt (x y : f64) : bool := Bltb x y.
Definition le (x y : f64) : bool := Bleb x y.
Definition eq (x y : f64) : bool := Beqb x y.
Definition min (x y : f64) : f64 := if lt x y then x else y.
Definition max (x y : f64) : f64 := if lt y x then x else y.
Definition floor (x : f64) : f64 := Bnearbyint mode_DN x.
Definition ceil (x : f64) : f64 := Bnearbyint mode_UP x.
Definition sqrt (x : f64) : f64 := Bsqrt mode_NE x.
Definition abs (x : f64) : f64 := Babs x.
Definition finite (x : f64) : bool := is_finite x.
(* x multiplied from 1, as often as n says, at most 65536 times. *)
Definition times (n : f64) : nat :=
  match n with B754_infinity false => Z.to_nat 65536 | _ => Z.to_nat (Z.min (Btrunc n) 65536) end.
Definition pow (x n : f64) : f64 := Nat.iter (times n) (fun p => mul p x) (num 1 0).

(* What the statements of theorems are made of. *)

Definition between (low high x : f64) : Prop := le low x = true /\ le x high = true.

(* Facts. *)

Notation val := (@B2R precision largest_exponent).
Notation fin := (@is_finite precision largest_exponent).

Definition Range (x low high : f64) : Prop := fin x = true /\ val low <= val x <= val high.
Definition Le (x y : f64) : Prop := fin x = true /\ fin y = true /\ val x <= val y.
Definition Lt (x y : f64) : Prop := fin x = true /\ fin y = true /\ val x < val y.
Definition Ratio (x y : f64) (k : Z) : Prop := fin x = true /\ fin y = true /\ val x = bpow radix2 k * val y.

(* Rounding. *)

Notation exponents := (SpecFloat.fexp precision largest_exponent).
Notation rnd := (round radix2 exponents ZnearestE).

#[global] Instance exponents_valid : Valid_exp exponents. Proof. apply fexp_correct. reflexivity. Qed.

Lemma rnd_le : forall x y, x <= y -> rnd x <= rnd y.
Proof. intros; apply round_le; auto with typeclass_instances. Qed.

Lemma rnd_val : forall x : f64, rnd (val x) = val x.
Proof. intros x; apply round_generic; auto with typeclass_instances. apply generic_format_B2R. Qed.

Lemma rnd_0 : rnd 0 = 0.
Proof. apply round_0; auto with typeclass_instances. Qed.

Lemma overflow_infinite : forall (x : f64) s,
  B2SF x = binary_overflow precision largest_exponent mode_NE s -> fin x = false.
Proof. intros x s H. destruct x; try reflexivity; simpl in H; discriminate H. Qed.

Lemma small : forall x : f64, fin x = true -> Rabs (val x) < bpow radix2 largest_exponent.
Proof. intros; apply abs_B2R_lt_emax. Qed.

Lemma add_val : forall x y, fin x = true -> fin y = true -> fin (add x y) = true ->
  val (add x y) = rnd (val x + val y).
Proof.
  intros x y Fx Fy F. unfold add in *.
  generalize (Bplus_correct _ _ _ _ mode_NE x y Fx Fy).
  case Rlt_bool; intros H; [apply H|].
  destruct H as [H _]. rewrite (overflow_infinite _ _ H) in F. discriminate.
Qed.

Lemma sub_val : forall x y, fin x = true -> fin y = true -> fin (sub x y) = true ->
  val (sub x y) = rnd (val x - val y).
Proof.
  intros x y Fx Fy F. unfold sub in *.
  generalize (Bminus_correct _ _ _ _ mode_NE x y Fx Fy).
  case Rlt_bool; intros H; [apply H|].
  destruct H as [H _]. rewrite (overflow_infinite _ _ H) in F. discriminate.
Qed.

Lemma mul_val : forall x y, fin (mul x y) = true -> val (mul x y) = rnd (val x * val y).
Proof.
  intros x y F. unfold mul in *.
  generalize (Bmult_correct _ _ _ _ mode_NE x y).
  case Rlt_bool; intros H; [apply H|].
  rewrite (overflow_infinite _ _ H) in F. discriminate.
Qed.

Lemma div_val : forall x y, val y <> 0 -> fin (div x y) = true -> val (div x y) = rnd (val x / val y).
Proof.
  intros x y N F. unfold div in *.
  generalize (Bdiv_correct _ _ _ _ mode_NE x y N).
  case Rlt_bool; intros H; [apply H|].
  rewrite (overflow_infinite _ _ H) in F. discriminate.
Qed.

(* What lies between two finite floats does not overflow. *)
Lemma bounded : forall (low high : f64) r, fin low = true -> fin high = true ->
  val low <= r <= val high -> Rlt_bool (Rabs r) (bpow radix2 largest_exponent) = true.
Proof.
  intros low high r Fl Fh H. apply Rlt_bool_true.
  generalize (small low Fl) (small high Fh). intros Hl Hh.
  apply Rabs_def2 in Hl. apply Rabs_def2 in Hh. apply Rabs_def1; lra.
Qed.

Lemma add_fin : forall (x y low high : f64), fin x = true -> fin y = true -> fin low = true -> fin high = true ->
  val low <= rnd (val x + val y) <= val high -> fin (add x y) = true.
Proof.
  intros x y low high Fx Fy Fl Fh H. unfold add.
  generalize (Bplus_correct _ _ _ _ mode_NE x y Fx Fy).
  simpl round_mode. rewrite (bounded low high _ Fl Fh H). intros [_ [F _]]. exact F.
Qed.

Lemma sub_fin : forall (x y low high : f64), fin x = true -> fin y = true -> fin low = true -> fin high = true ->
  val low <= rnd (val x - val y) <= val high -> fin (sub x y) = true.
Proof.
  intros x y low high Fx Fy Fl Fh H. unfold sub.
  generalize (Bminus_correct _ _ _ _ mode_NE x y Fx Fy).
  simpl round_mode. rewrite (bounded low high _ Fl Fh H). intros [_ [F _]]. exact F.
Qed.

Lemma mul_fin : forall (x y low high : f64), fin x = true -> fin y = true -> fin low = true -> fin high = true ->
  val low <= rnd (val x * val y) <= val high -> fin (mul x y) = true.
Proof.
  intros x y low high Fx Fy Fl Fh H. unfold mul.
  generalize (Bmult_correct _ _ _ _ mode_NE x y).
  simpl round_mode. rewrite (bounded low high _ Fl Fh H). intros [_ [F _]]. rewrite F, Fx, Fy. reflexivity.
Qed.

Lemma div_fin : forall (x y low high : f64), fin x = true -> val y <> 0 -> fin low = true -> fin high = true ->
  val low <= rnd (val x / val y) <= val high -> fin (div x y) = true.
Proof.
  intros x y low high Fx N Fl Fh H. unfold div.
  generalize (Bdiv_correct _ _ _ _ mode_NE x y N).
  simpl round_mode. rewrite (bounded low high _ Fl Fh H). intros [_ [F _]]. rewrite F. exact Fx.
Qed.

(* Comparisons of floats that are known. *)

Lemma le_val : forall x y, fin x = true -> fin y = true -> le x y = true -> val x <= val y.
Proof.
  intros x y Fx Fy H. unfold le in H. rewrite Bleb_correct in H by assumption.
  revert H. case Rle_bool_spec; [trivial | discriminate].
Qed.

Lemma lt_val : forall x y, fin x = true -> fin y = true -> lt x y = true -> val x < val y.
Proof.
  intros x y Fx Fy H. unfold lt in H. rewrite Bltb_correct in H by assumption.
  revert H. case Rlt_bool_spec; [trivial | discriminate].
Qed.

Definition zero : f64 := num 0 0.
Definition one : f64 := num 1 0.

Lemma zero_val : val zero = 0. Proof. reflexivity. Qed.
Lemma one_val : val one = 1. Proof. unfold one. vm_compute. lra. Qed.

(* c lies within the limits, all finite. *)
Definition within (low high c : f64) : bool := fin low && fin high && fin c && le low c && le c high.

Lemma within_val : forall low high c, within low high c = true ->
  fin low = true /\ fin high = true /\ fin c = true /\ val low <= val c <= val high.
Proof.
  unfold within. intros low high c H.
  repeat (apply andb_prop in H; destruct H as [H ?]).
  repeat split; auto using le_val.
Qed.

(* Opens facts into statements about real numbers. *)
Ltac open_facts :=
  repeat match goal with
  | H : Range _ _ _ |- _ => destruct H as [? [? ?]]
  | H : Le _ _ |- _ => destruct H as [? [? ?]]
  | H : Lt _ _ |- _ => destruct H as [? [? ?]]
  | H : Ratio _ _ _ |- _ => destruct H as [? [? ?]]
  | H : andb _ _ = true |- _ => apply andb_prop in H; destruct H
  | H : within _ _ _ = true |- _ => apply within_val in H; destruct H as [? [? [? [? ?]]]]
  end.

Ltac either := match goal with H : orb _ _ = true |- _ => apply orb_prop in H; destruct H as [H|H] end.

(* Comparisons that were computed, as statements about real numbers. *)
Ltac values :=
  repeat match goal with
  | H : le _ _ = true |- _ => apply le_val in H; [|assumption || reflexivity|assumption || reflexivity]
  | H : lt _ _ = true |- _ => apply lt_val in H; [|assumption || reflexivity|assumption || reflexivity]
  end; try rewrite zero_val in *; try rewrite one_val in *.

(* Ranges. *)

Lemma domain {x low high} : between low high x -> fin low && fin high = true -> Range x low high.
Proof.
  intros [Hl Hh] F. apply andb_prop in F. destruct F as [Fl Fh].
  assert (Fx : fin x = true).
  { unfold le, Bleb, SpecFloat.SFleb in *. destruct low, high, x; try discriminate; trivial;
    destruct s, s0, s1; simpl in *; try discriminate. }
  repeat split; auto using le_val.
Qed.

Lemma constant_range {m e low high} :
  fin (num m e) && within low high (num m e) = true -> Range (num m e) low high.
Proof. intros H. open_facts. repeat split; auto. Qed.

Lemma neg_val : forall x, val (neg x) = - val x.
Proof. intros. unfold neg. apply B2R_Bopp. Qed.

Lemma neg_fin : forall x, fin (neg x) = fin x.
Proof. intros. unfold neg. apply is_finite_Bopp. Qed.

Lemma neg_range {x l h low high} : Range x l h ->
  within low high (neg h) && within low high (neg l) = true -> Range (neg x) low high.
Proof.
  intros R H. open_facts. rewrite neg_val in *. unfold Range. rewrite neg_fin, neg_val. repeat split; auto; lra.
Qed.

Lemma add_range {x y l h k g low high} : Range x l h -> Range y k g ->
  fin l && fin h && fin k && fin g && within low high (add l k) && within low high (add h g) = true ->
  Range (add x y) low high.
Proof.
  intros Rx Ry H. open_facts.
  rewrite add_val in * by assumption.
  assert (B : val low <= rnd (val x + val y) <= val high).
  { assert (rnd (val l + val k) <= rnd (val x + val y)) by (apply rnd_le; lra).
    assert (rnd (val x + val y) <= rnd (val h + val g)) by (apply rnd_le; lra). lra. }
  assert (F : fin (add x y) = true) by (apply (add_fin x y low high); assumption).
  split; [exact F|]. rewrite add_val by assumption. exact B.
Qed.

Lemma sub_range {x y l h k g low high} : Range x l h -> Range y k g ->
  fin l && fin h && fin k && fin g && within low high (sub l g) && within low high (sub h k) = true ->
  Range (sub x y) low high.
Proof.
  intros Rx Ry H. open_facts.
  rewrite sub_val in * by assumption.
  assert (B : val low <= rnd (val x - val y) <= val high).
  { assert (rnd (val l - val g) <= rnd (val x - val y)) by (apply rnd_le; lra).
    assert (rnd (val x - val y) <= rnd (val h - val k)) by (apply rnd_le; lra). lra. }
  assert (F : fin (sub x y) = true) by (apply (sub_fin x y low high); assumption).
  split; [exact F|]. rewrite sub_val by assumption. exact B.
Qed.

(* One of the corners is not above, one not below. *)
Lemma corner_below : forall a b c d x y, a <= x <= b -> c <= y <= d ->
  a * c <= x * y \/ a * d <= x * y \/ b * c <= x * y \/ b * d <= x * y.
Proof.
  intros a b c d x y [? ?] [? ?].
  destruct (Rle_or_lt 0 y).
  - assert (a * y <= x * y) by (apply Rmult_le_compat_r; lra).
    destruct (Rle_or_lt 0 a).
    + assert (a * c <= a * y) by (apply Rmult_le_compat_l; lra). lra.
    + assert (a * d <= a * y) by (apply Rmult_le_compat_neg_l; lra). lra.
  - assert (b * y <= x * y) by nra.
    destruct (Rle_or_lt 0 b).
    + assert (b * c <= b * y) by (apply Rmult_le_compat_l; lra). lra.
    + assert (b * d <= b * y) by (apply Rmult_le_compat_neg_l; lra). lra.
Qed.

Lemma corner_above : forall a b c d x y, a <= x <= b -> c <= y <= d ->
  x * y <= a * c \/ x * y <= a * d \/ x * y <= b * c \/ x * y <= b * d.
Proof.
  intros a b c d x y Hx Hy.
  destruct (corner_below (-b) (-a) c d (-x) y) as [H|[H|[H|H]]]; lra.
Qed.

Definition corners (of : f64 -> f64 -> f64) (l h k g low high : f64) : bool :=
  fin l && fin h && fin k && fin g && within low high (of l k) && within low high (of l g)
  && within low high (of h k) && within low high (of h g).

Lemma mul_range {x y l h k g low high} : Range x l h -> Range y k g ->
  corners mul l h k g low high = true -> Range (mul x y) low high.
Proof.
  unfold corners. intros Rx Ry H. open_facts.
  rewrite mul_val in * by assumption.
  assert (B : val low <= rnd (val x * val y) <= val high).
  { split.
    - destruct (corner_below (val l) (val h) (val k) (val g) (val x) (val y)) as [C|[C|[C|C]]]; auto;
        apply rnd_le in C; lra.
    - destruct (corner_above (val l) (val h) (val k) (val g) (val x) (val y)) as [C|[C|[C|C]]]; auto;
        apply rnd_le in C; lra. }
  assert (F : fin (mul x y) = true) by (apply (mul_fin x y low high); assumption).
  split; [exact F|]. rewrite mul_val by assumption. exact B.
Qed.

Lemma square_range {x l h low high} : Range x l h ->
  fin l && fin h && within low high (mul l l) && within low high (mul h h)
    && (le low zero && (le zero high) || lt zero l || lt h zero) = true -> Range (mul x x) low high.
Proof.
  intros R H. open_facts. rewrite mul_val in * by assumption.
  assert (U : rnd (val x * val x) <= val high).
  { destruct (Rle_or_lt 0 (val x)).
    - assert (val x * val x <= val h * val h) by nra.
      assert (rnd (val x * val x) <= rnd (val h * val h)) by (apply rnd_le; assumption). lra.
    - assert (val x * val x <= val l * val l) by nra.
      assert (rnd (val x * val x) <= rnd (val l * val l)) by (apply rnd_le; assumption). lra. }
  assert (L : val low <= rnd (val x * val x)).
  { either; [either|]; open_facts; values.
    - assert (rnd 0 <= rnd (val x * val x)) by (apply rnd_le; nra). rewrite rnd_0 in *. lra.
    - assert (rnd (val l * val l) <= rnd (val x * val x)) by (apply rnd_le; nra). lra.
    - assert (rnd (val h * val h) <= rnd (val x * val x)) by (apply rnd_le; nra). lra. }
  assert (F : fin (mul x x) = true) by (apply (mul_fin x x low high); auto).
  split; [exact F|]. rewrite mul_val by assumption. lra.
Qed.

Lemma div_range {x y l h k g low high} : Range x l h -> Range y k g ->
  corners div l h k g low high && (lt zero k || lt g zero) = true -> Range (div x y) low high.
Proof.
  unfold corners. intros Rx Ry H. open_facts.
  assert (N : 0 < val k \/ val g < 0).
  { either; values; lra. }
  assert (Nk : val k <> 0) by lra. assert (Ng : val g <> 0) by lra. assert (Ny : val y <> 0) by lra.
  rewrite div_val in * by assumption.
  assert (I : / val g <= / val y <= / val k).
  { destruct N.
    - split; apply Rinv_le; lra.
    - assert (forall a b, a < 0 -> b < 0 -> a <= b -> / b <= / a) as D.
      { intros a b Ha Hb Hab.
        assert (/ - a <= / - b) by (apply Rinv_le; lra).
        rewrite !Rinv_opp in *. lra. }
      split; apply D; lra. }
  assert (B : val low <= rnd (val x / val y) <= val high).
  { unfold Rdiv in *. split.
    - destruct (corner_below (val l) (val h) (/ val g) (/ val k) (val x) (/ val y)) as [C|[C|[C|C]]]; auto;
        apply rnd_le in C; lra.
    - destruct (corner_above (val l) (val h) (/ val g) (/ val k) (val x) (/ val y)) as [C|[C|[C|C]]]; auto;
        apply rnd_le in C; lra. }
  assert (F : fin (div x y) = true) by (apply (div_fin x y low high); assumption).
  split; [exact F|]. rewrite div_val by assumption. exact B.
Qed.

Lemma min_val : forall x y, fin x = true -> fin y = true ->
  fin (min x y) = true /\ val (min x y) = Rmin (val x) (val y).
Proof.
  intros x y Fx Fy. unfold min, lt. rewrite Bltb_correct by assumption.
  unfold Rmin. case Rlt_bool_spec; intros H; destruct (Rle_dec (val x) (val y)); split; auto; lra.
Qed.

Lemma max_val : forall x y, fin x = true -> fin y = true ->
  fin (max x y) = true /\ val (max x y) = Rmax (val x) (val y).
Proof.
  intros x y Fx Fy. unfold max, lt. rewrite Bltb_correct by assumption.
  unfold Rmax. case Rlt_bool_spec; intros H; destruct (Rle_dec (val x) (val y)); split; auto; lra.
Qed.

Lemma min_range {x y l h k g low high} : Range x l h -> Range y k g ->
  fin l && fin h && fin k && fin g && fin low && fin high && le low l && le low k && (le h high || le g high) = true ->
  Range (min x y) low high.
Proof.
  intros Rx Ry H. open_facts.
  destruct (min_val x y) as [F V]; auto. split; [exact F|]. rewrite V.
  values.
  split.
  - apply Rmin_glb; lra.
  - either; values.
    + generalize (Rmin_l (val x) (val y)). lra.
    + generalize (Rmin_r (val x) (val y)). lra.
Qed.

Lemma max_range {x y l h k g low high} : Range x l h -> Range y k g ->
  fin l && fin h && fin k && fin g && fin low && fin high && le h high && le g high && (le low l || le low k) = true ->
  Range (max x y) low high.
Proof.
  intros Rx Ry H. open_facts.
  destruct (max_val x y) as [F V]; auto. split; [exact F|]. rewrite V.
  values.
  split.
  - either; values.
    + generalize (Rmax_l (val x) (val y)). lra.
    + generalize (Rmax_r (val x) (val y)). lra.
  - apply Rmax_lub; lra.
Qed.

Lemma floor_val : forall x, val (floor x) = IZR (Zfloor (val x)).
Proof.
  intros x. unfold floor. destruct (Bnearbyint_correct _ _ _ mode_DN x) as [H _]. rewrite H.
  unfold round, scaled_mantissa, F2R, cexp, FIX_exp. simpl. rewrite !Rmult_1_r. reflexivity.
Qed.

Lemma ceil_val : forall x, val (ceil x) = IZR (Zceil (val x)).
Proof.
  intros x. unfold ceil. destruct (Bnearbyint_correct _ _ _ mode_UP x) as [H _]. rewrite H.
  unfold round, scaled_mantissa, F2R, cexp, FIX_exp. simpl. rewrite !Rmult_1_r. reflexivity.
Qed.

Lemma floor_fin : forall x, fin (floor x) = fin x.
Proof. intros x. unfold floor. apply (Bnearbyint_correct _ _ _ mode_DN x). Qed.

Lemma ceil_fin : forall x, fin (ceil x) = fin x.
Proof. intros x. unfold ceil. apply (Bnearbyint_correct _ _ _ mode_UP x). Qed.

Lemma floor_range {x l h low high} : Range x l h ->
  within low high (floor l) && within low high (floor h) = true -> Range (floor x) low high.
Proof.
  intros R H. open_facts. rewrite floor_val in *. unfold Range. rewrite floor_fin, floor_val. split; [assumption|].
  assert (IZR (Zfloor (val l)) <= IZR (Zfloor (val x))) by (apply IZR_le, Zfloor_le; lra).
  assert (IZR (Zfloor (val x)) <= IZR (Zfloor (val h))) by (apply IZR_le, Zfloor_le; lra). lra.
Qed.

Lemma ceil_range {x l h low high} : Range x l h ->
  within low high (ceil l) && within low high (ceil h) = true -> Range (ceil x) low high.
Proof.
  intros R H. open_facts. rewrite ceil_val in *. unfold Range. rewrite ceil_fin, ceil_val. split; [assumption|].
  assert (IZR (Zceil (val l)) <= IZR (Zceil (val x))) by (apply IZR_le, Zceil_le; lra).
  assert (IZR (Zceil (val x)) <= IZR (Zceil (val h))) by (apply IZR_le, Zceil_le; lra). lra.
Qed.

(* The first limits lie within the second. *)
Definition covers (low high l h : f64) : bool := fin l && fin h && fin low && fin high && le low l && le h high.

Lemma widen {x l h low high} : Range x l h -> covers low high l h = true -> Range x low high.
Proof.
  unfold covers. intros R H. open_facts.
  values.
  split; [assumption|]. lra.
Qed.

Lemma if_range {c : bool} {x y l h k g low high} : Range x l h -> Range y k g ->
  covers low high l h && covers low high k g = true -> Range (if c then x else y) low high.
Proof.
  intros Rx Ry H. apply andb_prop in H. destruct H. destruct c; [apply (widen Rx)|apply (widen Ry)]; assumption.
Qed.

Lemma if_known_true {c : bool} {x y l h} : c = true -> Range x l h -> Range (if c then x else y) l h.
Proof. intros ->. trivial. Qed.

Lemma if_known_false {c : bool} {x y l h} : c = false -> Range y l h -> Range (if c then x else y) l h.
Proof. intros ->. trivial. Qed.

Lemma meet {x l h k g low high} : Range x l h -> Range x k g ->
  fin l && fin h && fin k && fin g && fin low && fin high && (le low l || le low k) && (le h high || le g high) = true ->
  Range x low high.
Proof.
  intros Rx Ry H. open_facts. split; [assumption|]. either; either; values; lra.
Qed.

Lemma pred_ge : forall x y : f64, fin x = true -> fin y = true -> val x < val y -> val x <= val (Bpred y).
Proof.
  intros x y Fx Fy H.
  generalize (Bpred_correct _ _ _ _ y Fy). case Rlt_bool_spec; intros P Q.
  - destruct Q as [Q _]. rewrite Q. apply pred_ge_gt; auto with typeclass_instances; try apply generic_format_B2R.
  - exfalso.
    assert (val x <= pred radix2 exponents (val y)).
    { apply pred_ge_gt; auto with typeclass_instances; apply generic_format_B2R. }
    generalize (small x Fx). intros S. apply Rabs_def2 in S. lra.
Qed.

Lemma succ_le : forall x y : f64, fin x = true -> fin y = true -> val x < val y -> val (Bsucc x) <= val y.
Proof.
  intros x y Fx Fy H.
  generalize (Bsucc_correct _ _ _ _ x Fx). case Rlt_bool_spec; intros P Q.
  - destruct Q as [Q _]. rewrite Q. apply succ_le_lt; auto with typeclass_instances; apply generic_format_B2R.
  - exfalso.
    assert (succ radix2 exponents (val x) <= val y).
    { apply succ_le_lt; auto with typeclass_instances; apply generic_format_B2R. }
    generalize (small y Fy). intros S. apply Rabs_def2 in S. lra.
Qed.

Lemma narrow_first {x y l h k g low high} : Le x y -> Range x l h -> Range y k g ->
  fin l && fin h && fin g && fin low && fin high && le low l && (le h high || le g high) = true -> Range x low high.
Proof.
  intros O Rx Ry H. open_facts.
  values.
  split; [assumption|]. split; [lra|].
  either; values; lra.
Qed.

Lemma narrow_second {x y l h k g low high} : Le x y -> Range x l h -> Range y k g ->
  fin l && fin k && fin g && fin low && fin high && le g high && (le low k || le low l) = true -> Range y low high.
Proof.
  intros O Rx Ry H. open_facts.
  values.
  split; [assumption|]. split; [|lra].
  either; values; lra.
Qed.

Lemma narrow_first_strict {x y l h k g low high} : Lt x y -> Range x l h -> Range y k g ->
  fin l && fin h && fin g && fin low && fin high && fin (Bpred g) && le low l && (le h high || le (Bpred g) high) = true ->
  Range x low high.
Proof.
  intros O Rx Ry H. open_facts.
  values.
  split; [assumption|]. split; [lra|].
  either; values; [lra|].
  assert (val x <= val (Bpred g)) by (apply pred_ge; auto; lra). lra.
Qed.

Lemma narrow_second_strict {x y l h k g low high} : Lt x y -> Range x l h -> Range y k g ->
  fin l && fin k && fin g && fin low && fin high && fin (Bsucc l) && le g high && (le low k || le low (Bsucc l)) = true ->
  Range y low high.
Proof.
  intros O Rx Ry H. open_facts.
  values.
  split; [assumption|]. split; [|lra].
  either; values; [lra|].
  assert (val (Bsucc l) <= val y) by (apply succ_le; auto; lra). lra.
Qed.

(* Differences and quotients of ordered values. *)

Lemma difference_above {x y l h low high} : Le x y -> Range (sub y x) l h ->
  fin l && fin h && fin low && fin high && le h high && (le low l || le low zero) = true -> Range (sub y x) low high.
Proof.
  intros O R H. open_facts.
  values.
  split; [assumption|]. split; [|lra].
  assert (0 <= val (sub y x)).
  { rewrite sub_val by assumption. rewrite <- rnd_0. apply rnd_le. lra. }
  either; values; [lra|].
  lra.
Qed.

Lemma difference_below {x y l h low high} : Le x y -> Range (sub x y) l h ->
  fin l && fin h && fin low && fin high && le low l && (le h high || le zero high) = true -> Range (sub x y) low high.
Proof.
  intros O R H. open_facts.
  values.
  split; [assumption|]. split; [lra|].
  assert (val (sub x y) <= 0).
  { rewrite sub_val by assumption. rewrite <- rnd_0. apply rnd_le. lra. }
  either; values; [lra|].
  lra.
Qed.

Lemma rnd_1 : rnd 1 = 1.
Proof. rewrite <- one_val. apply rnd_val. Qed.

Lemma quotient_below {x y k g l h low high} : Le x y -> Range y k g -> Range (div x y) l h ->
  fin k && fin l && fin h && fin low && fin high && lt zero k && le low l && (le h high || le one high) = true ->
  Range (div x y) low high.
Proof.
  intros O Ry R H. open_facts.
  values.
  split; [assumption|]. split; [lra|].
  assert (val (div x y) <= 1).
  { rewrite div_val by (auto; lra). rewrite <- rnd_1. apply rnd_le.
    apply Rmult_le_reg_r with (val y); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  either; values; [lra|].
  lra.
Qed.

Lemma quotient_above {x y k g l h low high} : Le x y -> Range x k g -> Range (div y x) l h ->
  fin k && fin l && fin h && fin low && fin high && lt zero k && le h high && (le low l || le low one) = true ->
  Range (div y x) low high.
Proof.
  intros O Ry R H. open_facts.
  values.
  split; [assumption|]. split; [|lra].
  assert (1 <= val (div y x)).
  { rewrite div_val by (auto; lra). rewrite <- rnd_1. apply rnd_le.
    apply Rmult_le_reg_r with (val x); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  either; values; [lra|].
  lra.
Qed.

(* Orders. *)

Ltac facts := repeat split; auto.

Lemma refl {x l h} : Range x l h -> Le x x.
Proof. intros. open_facts. facts. lra. Qed.

Lemma apart_le {x y l h k g} : Range x l h -> Range y k g -> fin h && fin k && le h k = true -> Le x y.
Proof. intros. open_facts. values. facts. lra. Qed.

Lemma apart_lt {x y l h k g} : Range x l h -> Range y k g -> fin h && fin k && lt h k = true -> Lt x y.
Proof. intros. open_facts. values. facts. lra. Qed.

Lemma trans_le_le {x y z} : Le x y -> Le y z -> Le x z.
Proof. intros. open_facts. facts. lra. Qed.

Lemma trans_lt_le {x y z} : Lt x y -> Le y z -> Lt x z.
Proof. intros. open_facts. facts. lra. Qed.

Lemma trans_le_lt {x y z} : Le x y -> Lt y z -> Lt x z.
Proof. intros. open_facts. facts. lra. Qed.

Lemma trans_lt_lt {x y z} : Lt x y -> Lt y z -> Lt x z.
Proof. intros. open_facts. facts. lra. Qed.

Lemma weak {x y} : Lt x y -> Le x y.
Proof. intros. open_facts. facts. lra. Qed.

Lemma neg_le {x y} : Le x y -> Le (neg y) (neg x).
Proof. intros. open_facts. unfold Le. rewrite !neg_fin, !neg_val. facts. lra. Qed.

Lemma add_le {p q r s a b c d} : Le p r -> Le q s -> Range (add p q) a b -> Range (add r s) c d ->
  Le (add p q) (add r s).
Proof. intros. open_facts. facts. rewrite !add_val by assumption. apply rnd_le. lra. Qed.

Lemma add_le_swapped {p q r s a b c d} : Le p r -> Le q s -> Range (add p q) a b -> Range (add s r) c d ->
  Le (add p q) (add s r).
Proof. intros. open_facts. facts. rewrite !add_val by assumption. apply rnd_le. lra. Qed.

Lemma sub_le {p q r s a b c d} : Le p r -> Le s q -> Range (sub p q) a b -> Range (sub r s) c d ->
  Le (sub p q) (sub r s).
Proof. intros. open_facts. facts. rewrite !sub_val by assumption. apply rnd_le. lra. Qed.

Definition product (z x y : f64) : Prop := z = mul x y \/ z = mul y x.

Lemma product_val : forall z x y, product z x y -> fin z = true -> val z = rnd (val x * val y).
Proof. intros z x y [->| ->] F; rewrite mul_val by assumption; [|rewrite Rmult_comm]; reflexivity. Qed.

Lemma mul_le {x y p q r s k g l h a b c d} : Le p r -> Le q s -> Range q k g -> Range r l h -> Range x a b -> Range y c d ->
  product x p q -> product y r s -> fin k && fin l && le zero k && le zero l = true -> Le x y.
Proof.
  intros. open_facts. values. facts. rewrite (product_val x p q), (product_val y r s) by assumption.
  apply rnd_le. nra.
Qed.

Lemma mul_turn {x y p q r k g a b c d} : Le r p -> Range q k g -> Range x a b -> Range y c d ->
  product x p q -> product y r q -> fin g && le g zero = true -> Le x y.
Proof.
  intros. open_facts. values. facts. rewrite (product_val x p q), (product_val y r q) by assumption.
  apply rnd_le. nra.
Qed.

Lemma quotient_order : forall p q r s, 0 < s -> s <= q -> 0 <= r -> p <= r -> p / q <= r / s.
Proof.
  intros p q r s Hs Hq Hr Hp. apply Rle_trans with (r / q).
  - unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | exact Hp].
  - unfold Rdiv. apply Rmult_le_compat_l; [exact Hr | apply Rinv_le; lra].
Qed.

Lemma div_le {p q r s k g l h a b c d} : Le p r -> Le s q -> Range r k g -> Range s l h -> Range (div p q) a b -> Range (div r s) c d ->
  fin k && fin l && le zero k && lt zero l = true -> Le (div p q) (div r s).
Proof.
  intros. open_facts. values. facts. rewrite !div_val by (auto; lra). apply rnd_le, quotient_order; lra.
Qed.

Lemma div_by {p q r k g a b c d} : Le p r -> Range q k g -> Range (div p q) a b -> Range (div r q) c d ->
  fin k && lt zero k = true -> Le (div p q) (div r q).
Proof.
  intros. open_facts. values. facts. rewrite !div_val by (auto; lra). apply rnd_le.
  unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra.
Qed.

Lemma div_turn {p q r k g a b c d} : Le r p -> Range q k g -> Range (div p q) a b -> Range (div r q) c d ->
  fin g && lt g zero = true -> Le (div p q) (div r q).
Proof.
  intros. open_facts. values. facts. rewrite !div_val by (auto; lra). apply rnd_le.
  assert (/ val q < 0) by (apply Rinv_lt_0_compat; lra). unfold Rdiv. nra.
Qed.

Lemma div_neg {p q s k g l h a b c d} : Le q s -> Range p l h -> Range q k g -> Range (div p q) a b -> Range (div p s) c d ->
  fin h && fin k && le h zero && lt zero k = true -> Le (div p q) (div p s).
Proof.
  intros. open_facts. values. facts. rewrite !div_val by (auto; lra). apply rnd_le.
  assert (/ val s <= / val q) by (apply Rinv_le; lra). unfold Rdiv. nra.
Qed.

Lemma floor_le {x y} : Le x y -> Le (floor x) (floor y).
Proof. intros. open_facts. unfold Le. rewrite !floor_fin, !floor_val. facts. apply IZR_le, Zfloor_le. lra. Qed.

Lemma ceil_le {x y} : Le x y -> Le (ceil x) (ceil y).
Proof. intros. open_facts. unfold Le. rewrite !ceil_fin, !ceil_val. facts. apply IZR_le, Zceil_le. lra. Qed.

Lemma min_le_first {x y l h k g} : Range x l h -> Range y k g -> Le (min x y) x.
Proof. intros. open_facts. destruct (min_val x y) as [F V]; auto. facts. rewrite V. apply Rmin_l. Qed.

Lemma min_le_second {x y l h k g} : Range x l h -> Range y k g -> Le (min x y) y.
Proof. intros. open_facts. destruct (min_val x y) as [F V]; auto. facts. rewrite V. apply Rmin_r. Qed.

Lemma max_ge_first {x y l h k g} : Range x l h -> Range y k g -> Le x (max x y).
Proof. intros. open_facts. destruct (max_val x y) as [F V]; auto. facts. rewrite V. apply Rmax_l. Qed.

Lemma max_ge_second {x y l h k g} : Range x l h -> Range y k g -> Le y (max x y).
Proof. intros. open_facts. destruct (max_val x y) as [F V]; auto. facts. rewrite V. apply Rmax_r. Qed.

Lemma le_min {z x y} : Le z x -> Le z y -> Le z (min x y).
Proof. intros. open_facts. destruct (min_val x y) as [F V]; auto. facts. rewrite V. apply Rmin_glb; lra. Qed.

Lemma max_le {x y z} : Le x z -> Le y z -> Le (max x y) z.
Proof. intros. open_facts. destruct (max_val x y) as [F V]; auto. facts. rewrite V. apply Rmax_lub; lra. Qed.

Lemma if_le {c : bool} {x y z} : Le x z -> Le y z -> Le (if c then x else y) z.
Proof. destruct c; trivial. Qed.

Lemma le_if {c : bool} {x y z} : Le z x -> Le z y -> Le z (if c then x else y).
Proof. destruct c; trivial. Qed.

Lemma if_if {c : bool} {x y z w} : Le x z -> Le y w -> Le (if c then x else y) (if c then z else w).
Proof. destruct c; trivial. Qed.

Lemma chosen_true_below {c : bool} {x y l h} : c = true -> Range x l h -> Le (if c then x else y) x.
Proof. intros -> R. exact (refl R). Qed.

Lemma chosen_true_above {c : bool} {x y l h} : c = true -> Range x l h -> Le x (if c then x else y).
Proof. intros -> R. exact (refl R). Qed.

Lemma chosen_false_below {c : bool} {x y l h} : c = false -> Range y l h -> Le (if c then x else y) y.
Proof. intros -> R. exact (refl R). Qed.

Lemma chosen_false_above {c : bool} {x y l h} : c = false -> Range y l h -> Le y (if c then x else y).
Proof. intros -> R. exact (refl R). Qed.

Lemma floor_below {x l h} : Range x l h -> Le (floor x) x.
Proof. intros. open_facts. unfold Le. rewrite floor_fin, floor_val. facts. apply Zfloor_lb. Qed.

Lemma ceil_above {x l h} : Range x l h -> Le x (ceil x).
Proof. intros. open_facts. unfold Le. rewrite ceil_fin, ceil_val. facts. apply Zceil_ub. Qed.

Lemma rnd_ge_val : forall (x : f64) r, val x <= r -> val x <= rnd r.
Proof. intros. rewrite <- (rnd_val x). apply rnd_le. assumption. Qed.

Lemma rnd_le_val : forall (x : f64) r, r <= val x -> rnd r <= val x.
Proof. intros. rewrite <- (rnd_val x). apply rnd_le. assumption. Qed.

Definition sum (z x y : f64) : Prop := z = add x y \/ z = add y x.

Lemma sum_val : forall z x y, sum z x y -> fin x = true -> fin y = true -> fin z = true -> val z = rnd (val x + val y).
Proof. intros z x y [->| ->] Fx Fy F; rewrite add_val by assumption; [|rewrite Rplus_comm]; reflexivity. Qed.

Lemma add_sign_above {z x c k g l h a b} : Range x k g -> Range c l h -> Range z a b ->
  sum z x c -> fin l && le zero l = true -> Le x z.
Proof. intros. open_facts. values. facts. rewrite (sum_val z x c) by assumption. apply rnd_ge_val. lra. Qed.

Lemma add_sign_below {z x c k g l h a b} : Range x k g -> Range c l h -> Range z a b ->
  sum z x c -> fin h && le h zero = true -> Le z x.
Proof. intros. open_facts. values. facts. rewrite (sum_val z x c) by assumption. apply rnd_le_val. lra. Qed.

Lemma sub_sign_below {x c k g l h a b} : Range x k g -> Range c l h -> Range (sub x c) a b ->
  fin l && le zero l = true -> Le (sub x c) x.
Proof. intros. open_facts. values. facts. rewrite sub_val by assumption. apply rnd_le_val. lra. Qed.

Lemma sub_sign_above {x c k g l h a b} : Range x k g -> Range c l h -> Range (sub x c) a b ->
  fin h && le h zero = true -> Le x (sub x c).
Proof. intros. open_facts. values. facts. rewrite sub_val by assumption. apply rnd_ge_val. lra. Qed.

Lemma mul_one_below {z x c k g l h a b} : Range x k g -> Range c l h -> Range z a b -> product z x c ->
  fin k && fin g && fin l && fin h && (le zero k && (le zero l && le h one) || le g zero && le one l) = true -> Le z x.
Proof.
  intros. open_facts. facts. rewrite (product_val z x c) by assumption. apply rnd_le_val.
  either; open_facts; values; nra.
Qed.

Lemma mul_one_above {z x c k g l h a b} : Range x k g -> Range c l h -> Range z a b -> product z x c ->
  fin k && fin g && fin l && fin h && (le zero k && le one l || le g zero && (le zero l && le h one)) = true -> Le x z.
Proof.
  intros. open_facts. facts. rewrite (product_val z x c) by assumption. apply rnd_ge_val.
  either; open_facts; values; nra.
Qed.

Lemma inverse_small : forall y, 1 <= y -> 0 < / y <= 1.
Proof.
  intros y H. split; [apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le; lra.
Qed.

Lemma inverse_large : forall y, 0 < y <= 1 -> 1 <= / y.
Proof. intros y H. rewrite <- Rinv_1 at 1. apply Rinv_le; lra. Qed.

Lemma div_one_below {x c k g l h a b} : Range x k g -> Range c l h -> Range (div x c) a b ->
  fin k && fin g && fin l && fin h && (le zero k && le one l || le g zero && (lt zero l && le h one)) = true ->
  Le (div x c) x.
Proof.
  intros. open_facts. facts. either; open_facts; values.
  - rewrite div_val by (auto; lra). apply rnd_le_val. generalize (inverse_small (val c)). unfold Rdiv. nra.
  - rewrite div_val by (auto; lra). apply rnd_le_val. generalize (inverse_large (val c)). unfold Rdiv. nra.
Qed.

Lemma div_one_above {x c k g l h a b} : Range x k g -> Range c l h -> Range (div x c) a b ->
  fin k && fin g && fin l && fin h && (le zero k && (lt zero l && le h one) || le g zero && le one l) = true ->
  Le x (div x c).
Proof.
  intros. open_facts. facts. either; open_facts; values.
  - rewrite div_val by (auto; lra). apply rnd_ge_val. generalize (inverse_large (val c)). unfold Rdiv. nra.
  - rewrite div_val by (auto; lra). apply rnd_ge_val. generalize (inverse_small (val c)). unfold Rdiv. nra.
Qed.

(* Conditions. *)

Lemma less_true {x y} : Lt x y -> lt x y = true.
Proof. intros. open_facts. unfold lt. rewrite Bltb_correct by assumption. apply Rlt_bool_true. assumption. Qed.

Lemma less_false {x y} : Le y x -> lt x y = false.
Proof. intros. open_facts. unfold lt. rewrite Bltb_correct by assumption. apply Rlt_bool_false. assumption. Qed.

Lemma less_equal_true {x y} : Le x y -> le x y = true.
Proof. intros. open_facts. unfold le. rewrite Bleb_correct by assumption. apply Rle_bool_true. assumption. Qed.

Lemma less_equal_false {x y} : Lt y x -> le x y = false.
Proof. intros. open_facts. unfold le. rewrite Bleb_correct by assumption. apply Rle_bool_false. assumption. Qed.

Lemma equal_true {x y} : Le x y -> Le y x -> eq x y = true.
Proof. intros. open_facts. unfold eq. rewrite Beqb_correct by assumption. apply Req_bool_true. lra. Qed.

Lemma equal_false_below {x y} : Lt x y -> eq x y = false.
Proof. intros. open_facts. unfold eq. rewrite Beqb_correct by assumption. apply Req_bool_false. lra. Qed.

Lemma equal_false_above {x y} : Lt y x -> eq x y = false.
Proof. intros. open_facts. unfold eq. rewrite Beqb_correct by assumption. apply Req_bool_false. lra. Qed.

Lemma order_less_true {x y l h k g} : lt x y = true -> Range x l h -> Range y k g -> Lt x y.
Proof. intros. open_facts. values. facts. Qed.

Lemma order_less_false {x y l h k g} : lt x y = false -> Range x l h -> Range y k g -> Le y x.
Proof.
  intros C. intros. open_facts. facts. unfold lt in C. rewrite Bltb_correct in C by assumption.
  revert C. case Rlt_bool_spec; [discriminate | trivial].
Qed.

Lemma order_less_equal_true {x y l h k g} : le x y = true -> Range x l h -> Range y k g -> Le x y.
Proof. intros. open_facts. values. facts. Qed.

Lemma order_less_equal_false {x y l h k g} : le x y = false -> Range x l h -> Range y k g -> Lt y x.
Proof.
  intros C. intros. open_facts. facts. unfold le in C. rewrite Bleb_correct in C by assumption.
  revert C. case Rle_bool_spec; [discriminate | trivial].
Qed.

Lemma order_equal_below {x y l h k g} : eq x y = true -> Range x l h -> Range y k g -> Le x y.
Proof.
  intros C. intros. open_facts. facts. unfold eq in C. rewrite Beqb_correct in C by assumption.
  revert C. case Req_bool_spec; [lra | discriminate].
Qed.

Lemma order_equal_above {x y l h k g} : eq x y = true -> Range x l h -> Range y k g -> Le y x.
Proof.
  intros C. intros. open_facts. facts. unfold eq in C. rewrite Beqb_correct in C by assumption.
  revert C. case Req_bool_spec; [lra | discriminate].
Qed.

Lemma and_true {a b} : a = true -> b = true -> andb a b = true.
Proof. intros -> ->. reflexivity. Qed.
Lemma and_false_first {a b} : a = false -> andb a b = false.
Proof. intros ->. reflexivity. Qed.
Lemma and_false_second {a b} : b = false -> andb a b = false.
Proof. intros ->. destruct a; reflexivity. Qed.
Lemma or_false {a b} : a = false -> b = false -> orb a b = false.
Proof. intros -> ->. reflexivity. Qed.
Lemma or_true_first {a b} : a = true -> orb a b = true.
Proof. intros ->. reflexivity. Qed.
Lemma or_true_second {a b} : b = true -> orb a b = true.
Proof. intros ->. destruct a; reflexivity. Qed.
Lemma not_true {a} : a = true -> negb a = false.
Proof. intros ->. reflexivity. Qed.
Lemma not_false {a} : a = false -> negb a = true.
Proof. intros ->. reflexivity. Qed.
Lemma iff_known {a b v w} : a = v -> b = w -> Bool.eqb a b = Bool.eqb v w.
Proof. intros -> ->. reflexivity. Qed.
Lemma iff_same {a} : Bool.eqb a a = true.
Proof. destruct a; reflexivity. Qed.
Lemma part_and_first {a b} : andb a b = true -> a = true.
Proof. destruct a; trivial. Qed.
Lemma part_and_second {a b} : andb a b = true -> b = true.
Proof. destruct a, b; trivial. Qed.
Lemma part_or_first {a b} : orb a b = false -> a = false.
Proof. destruct a; trivial. Qed.
Lemma part_or_second {a b} : orb a b = false -> b = false.
Proof. destruct a, b; trivial; discriminate. Qed.
Lemma part_not_true {a} : negb a = true -> a = false.
Proof. destruct a; trivial; discriminate. Qed.
Lemma part_not_false {a} : negb a = false -> a = true.
Proof. destruct a; trivial; discriminate. Qed.

Lemma finite_true {x l h} : Range x l h -> finite x = true.
Proof. intros. open_facts. assumption. Qed.

(* Cases, and those that cannot be. *)

Lemma three_orders {x y l h k g} : Range x l h -> Range y k g -> Lt x y \/ (Le x y /\ Le y x) \/ Lt y x.
Proof.
  intros. open_facts. destruct (Rtotal_order (val x) (val y)) as [T|[T|T]].
  - left. facts.
  - right; left. split; facts; lra.
  - right; right. facts.
Qed.

Lemma two_truths (c : bool) : c = true \/ c = false.
Proof. destruct c; auto. Qed.

Lemma empty {x l h} : Range x l h -> fin l && fin h && lt h l = true -> False.
Proof. intros. open_facts. values. lra. Qed.

Lemma clash_le {x y} : Lt x y -> Le y x -> False.
Proof. intros. open_facts. lra. Qed.

Lemma clash_lt {x y} : Lt x y -> Lt y x -> False.
Proof. intros. open_facts. lra. Qed.

Lemma clash_truth {c : bool} : c = true -> c = false -> False.
Proof. intros ->. discriminate. Qed.

(* Powers of two. *)

Notation smallest := (bpow radix2 (-1022)).

Lemma rnd_flx : forall x, smallest <= Rabs x -> rnd x = round radix2 (FLX_exp 53) ZnearestE x.
Proof. intros x H. exact (round_FLT_FLX radix2 (-1074) 53 ZnearestE x H). Qed.

Lemma rnd_scale : forall x k, smallest <= Rabs x -> smallest <= Rabs (x * bpow radix2 k) ->
  rnd (x * bpow radix2 k) = rnd x * bpow radix2 k.
Proof.
  intros x k Hx Hk. rewrite (rnd_flx x Hx), (rnd_flx _ Hk).
  assert (N : x <> 0).
  { intros ->. rewrite Rabs_R0 in Hx. generalize (bpow_gt_0 radix2 (-1022)). lra. }
  unfold round, F2R, scaled_mantissa, cexp, FLX_exp. simpl.
  rewrite (mag_mult_bpow radix2 x k N).
  replace (mag radix2 x + k - 53)%Z with ((mag radix2 x - 53) + k)%Z by ring.
  rewrite Z.opp_add_distr, !bpow_plus.
  replace (x * bpow radix2 k * (bpow radix2 (- (mag radix2 x - 53)) * bpow radix2 (- k)))
    with (x * bpow radix2 (- (mag radix2 x - 53)) * (bpow radix2 k * bpow radix2 (- k))) by ring.
  rewrite <- (bpow_plus radix2 k (- k)), Z.add_opp_diag_r. simpl (bpow radix2 0). rewrite Rmult_1_r. ring.
Qed.

Lemma smallest_format : generic_format radix2 exponents smallest.
Proof. apply generic_format_bpow. unfold SpecFloat.fexp, SpecFloat.emin, precision, largest_exponent. lia. Qed.

(* What is rounded to a normal number was one. *)
Lemma normal_before : forall x, smallest < Rabs (rnd x) -> smallest <= Rabs x.
Proof.
  intros x H. apply Rnot_lt_le. intros L.
  assert (Rabs (rnd x) <= smallest).
  { apply abs_round_le_generic; auto with typeclass_instances. apply smallest_format. lra. }
  lra.
Qed.

Definition least : f64 := num 1 (-1022).
Lemma least_val : val least = smallest.
Proof.
  assert (E : F2R (Float radix2 1 (-1022)) = smallest) by (unfold F2R; simpl Fnum; simpl Fexp; ring).
  assert (G : rnd smallest = smallest).
  { apply round_generic; auto with typeclass_instances. apply smallest_format. }
  generalize (binary_normalize_correct precision largest_exponent precision_positive precision_below mode_NE 1 (-1022) false).
  cbv zeta. rewrite E. change (round_mode mode_NE) with ZnearestE. rewrite G.
  rewrite Rlt_bool_true; [intros H; apply H|].
  rewrite Rabs_pos_eq by apply bpow_ge_0. apply bpow_lt. reflexivity.
Qed.

Definition normal (l h : f64) : bool := fin l && fin h && (lt least l || lt h (neg least)).

Lemma normal_val : forall x l h, Range x l h -> normal l h = true -> smallest < Rabs (val x).
Proof.
  unfold normal. intros x l h R H. open_facts.
  assert (fin least = true) by reflexivity. assert (fin (neg least) = true) by reflexivity.
  either; values; try rewrite neg_val in *; rewrite least_val in *; generalize (bpow_gt_0 radix2 (-1022)); intros.
  - rewrite Rabs_pos_eq; lra.
  - rewrite Rabs_left; lra.
Qed.

Lemma ratio_refl {x l h} : Range x l h -> Ratio x x 0.
Proof. intros. open_facts. facts. simpl. lra. Qed.

Lemma ratio_trans {x y z j k n} : Ratio x y j -> Ratio y z k -> Z.eqb n (j + k) = true -> Ratio x z n.
Proof.
  intros A B E. apply Z.eqb_eq in E. open_facts. facts. rewrite E, bpow_plus. 
  replace (val x) with (bpow radix2 j * val y) by auto. replace (val y) with (bpow radix2 k * val z) by auto. ring.
Qed.

Lemma ratio_flip {x y k n} : Ratio x y k -> Z.eqb n (- k) = true -> Ratio y x n.
Proof.
  intros A E. apply Z.eqb_eq in E. open_facts. facts. rewrite E.
  replace (val x) with (bpow radix2 k * val y) by auto.
  rewrite <- Rmult_assoc, <- bpow_plus, Z.add_opp_diag_l. simpl. lra.
Qed.

Lemma ratio_equal {x y} : Le x y -> Le y x -> Ratio x y 0.
Proof. intros. open_facts. facts. simpl. lra. Qed.

Lemma ratio_neg {x y k} : Ratio x y k -> Ratio (neg x) (neg y) k.
Proof. intros. open_facts. unfold Ratio. rewrite !neg_fin, !neg_val. facts. 
  replace (val x) with (bpow radix2 k * val y) by auto. ring. Qed.

(* Sums of floats lose nothing below the normal numbers. *)
Lemma sum_exact : forall x y : f64, Rabs (val x + val y) < smallest -> rnd (val x + val y) = val x + val y.
Proof.
  intros x y H. apply round_generic; auto with typeclass_instances.
  change exponents with (FLT_exp (-1074) 53).
  apply FLT_format_plus_small; auto with typeclass_instances.
  - apply (generic_format_B2R precision largest_exponent x).
  - apply (generic_format_B2R precision largest_exponent y).
  - apply Rlt_le, Rlt_trans with (1 := H). apply bpow_lt. reflexivity.
Qed.

Lemma format_times : forall x k, (0 <= k)%Z -> generic_format radix2 exponents x ->
  generic_format radix2 exponents (x * bpow radix2 k).
Proof.
  intros x k K F. change exponents with (FLT_exp (-1074) 53).
  apply mult_bpow_pos_exact_FLT; auto.
Qed.

Lemma rnd_scale_sum : forall p q r s : f64, forall k,
  val p = bpow radix2 k * val r -> val q = bpow radix2 k * val s ->
  rnd (val p + val q) = bpow radix2 k * rnd (val r + val s).
Proof.
  intros p q r s k Hp Hq.
  assert (E : val p + val q = (val r + val s) * bpow radix2 k) by (rewrite Hp, Hq; ring).
  destruct (Rle_or_lt smallest (Rabs (val r + val s))) as [A|A];
  destruct (Rle_or_lt smallest (Rabs (val p + val q))) as [B|B].
  - rewrite E in *. rewrite rnd_scale by assumption. ring.
  - rewrite (sum_exact p q B).
    assert (G : rnd (val r + val s) = val r + val s).
    { apply round_generic; auto with typeclass_instances.
      assert (K : (0 <= - k)%Z).
      { destruct (Z_le_gt_dec 0 (- k)) as [K|K]; [exact K|exfalso].
        rewrite E, Rabs_mult, (Rabs_pos_eq (bpow radix2 k)) in B by apply bpow_ge_0.
        assert (1 <= bpow radix2 k) by (apply (bpow_le radix2 0 k); lia).
        generalize (bpow_gt_0 radix2 (-1022)). nra. }
      replace (val r + val s) with ((val p + val q) * bpow radix2 (- k)).
      - apply format_times; [exact K|]. rewrite <- (sum_exact p q B). apply generic_format_round; auto with typeclass_instances.
      - rewrite E, Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r. simpl. ring. }
    rewrite G, E. ring.
  - rewrite (sum_exact r s A).
    assert (K : (0 <= k)%Z).
    { destruct (Z_le_gt_dec 0 k) as [K|K]; [exact K|exfalso].
      rewrite E, Rabs_mult, (Rabs_pos_eq (bpow radix2 k)) in B by apply bpow_ge_0.
      assert (bpow radix2 k <= 1) by (apply (bpow_le radix2 k 0); lia).
      generalize (bpow_gt_0 radix2 k) (Rabs_pos (val r + val s)). nra. }
    rewrite E. rewrite round_generic; auto with typeclass_instances; [ring|].
    apply format_times; [exact K|]. rewrite <- (sum_exact r s A). apply generic_format_round; auto with typeclass_instances.
  - rewrite (sum_exact p q B), (sum_exact r s A), E. ring.
Qed.

Lemma ratio_add {p q r s k a b c d} : Ratio p r k -> Ratio q s k -> Range (add p q) a b -> Range (add r s) c d ->
  Ratio (add p q) (add r s) k.
Proof. intros. open_facts. facts. rewrite !add_val by assumption. apply rnd_scale_sum; assumption. Qed.

Lemma ratio_add_swapped {p q r s k a b c d} : Ratio p r k -> Ratio q s k -> Range (add p q) a b -> Range (add s r) c d ->
  Ratio (add p q) (add s r) k.
Proof.
  intros. open_facts. facts. rewrite !add_val by assumption. rewrite (Rplus_comm (val s)).
  apply rnd_scale_sum; assumption.
Qed.

Lemma ratio_sub {p q r s k a b c d} : Ratio p r k -> Ratio q s k -> Range (sub p q) a b -> Range (sub r s) c d ->
  Ratio (sub p q) (sub r s) k.
Proof.
  intros. open_facts. facts. rewrite !sub_val by assumption. unfold Rminus.
  rewrite <- (neg_val q), <- (neg_val s). apply rnd_scale_sum; [assumption|].
  rewrite !neg_val. replace (val q) with (bpow radix2 k * val s) by auto. ring.
Qed.

Lemma scale_either : forall x y k, x = y * bpow radix2 k -> (k = 0%Z \/ smallest < Rabs (rnd x) /\ smallest < Rabs (rnd y)) ->
  rnd x = bpow radix2 k * rnd y.
Proof.
  intros x y k E [->|[A B]].
  - simpl in *. rewrite Rmult_1_r in E. rewrite E. ring.
  - apply normal_before in A. apply normal_before in B. rewrite E in *. rewrite rnd_scale by assumption. ring.
Qed.

Lemma ratio_mul {x y p q r s j k n a b c d} : Ratio p r j -> Ratio q s k -> Range x a b -> Range y c d ->
  product x p q -> product y r s ->
  Z.eqb n (j + k) && (Z.eqb n 0 || normal a b && normal c d) = true -> Ratio x y n.
Proof.
  intros A B X Y Px Py H. apply andb_prop in H. destruct H as [E H]. apply Z.eqb_eq in E.
  assert (N : n = 0%Z \/ smallest < Rabs (val x) /\ smallest < Rabs (val y)).
  { apply orb_prop in H. destruct H as [H|H]; [left; apply Z.eqb_eq; exact H|right].
    apply andb_prop in H. destruct H. split; eapply normal_val; eauto. }
  open_facts. facts. rewrite (product_val x p q), (product_val y r s) in * by assumption.
  apply scale_either; [|exact N].
  rewrite E, bpow_plus. replace (val p) with (bpow radix2 j * val r) by auto. replace (val q) with (bpow radix2 k * val s) by auto. ring.
Qed.

(* A quotient that is finite has a divisor that is not zero. *)
Lemma divisor_not_zero : forall x y, fin y = true -> fin (div x y) = true -> val y <> 0.
Proof.
  intros x y Fy F. unfold div in F. destruct y as [s| | |s m e B]; try discriminate.
  - destruct x; discriminate.
  - simpl. intros Z. apply eq_0_F2R in Z. destruct s; discriminate.
Qed.

Lemma ratio_div {p q r s j k n a b c d} : Ratio p r j -> Ratio q s k -> Range (div p q) a b -> Range (div r s) c d ->
  Z.eqb n (j - k) && (Z.eqb n 0 || normal a b && normal c d) = true -> Ratio (div p q) (div r s) n.
Proof.
  intros A B X Y H. apply andb_prop in H. destruct H as [E H]. apply Z.eqb_eq in E.
  assert (N : n = 0%Z \/ smallest < Rabs (val (div p q)) /\ smallest < Rabs (val (div r s))).
  { apply orb_prop in H. destruct H as [H|H]; [left; apply Z.eqb_eq; exact H|right].
    apply andb_prop in H. destruct H. split; eapply normal_val; eauto. }
  open_facts.
  assert (Nq : val q <> 0) by (apply (divisor_not_zero p); assumption).
  assert (Ns : val s <> 0) by (apply (divisor_not_zero r); assumption).
  facts. rewrite !div_val in * by assumption.
  apply scale_either; [|exact N].
  rewrite E. unfold Z.sub. rewrite bpow_plus, bpow_opp.
  replace (val p) with (bpow radix2 j * val r) by auto. replace (val q) with (bpow radix2 k * val s) by auto.
  field. split; [generalize (bpow_gt_0 radix2 k); lra | exact Ns].
Qed.

Lemma ratio_min {p q r s k} : Ratio p r k -> Ratio q s k -> Ratio (min p q) (min r s) k.
Proof.
  intros. open_facts. destruct (min_val p q) as [F V]; auto. destruct (min_val r s) as [G W]; auto. facts.
  rewrite V, W. replace (val p) with (bpow radix2 k * val r) by auto. replace (val q) with (bpow radix2 k * val s) by auto.
  generalize (bpow_gt_0 radix2 k). intros. unfold Rmin.
  destruct (Rle_dec (bpow radix2 k * val r) (bpow radix2 k * val s)), (Rle_dec (val r) (val s)); try reflexivity; nra.
Qed.

Lemma ratio_max {p q r s k} : Ratio p r k -> Ratio q s k -> Ratio (max p q) (max r s) k.
Proof.
  intros. open_facts. destruct (max_val p q) as [F V]; auto. destruct (max_val r s) as [G W]; auto. facts.
  rewrite V, W. replace (val p) with (bpow radix2 k * val r) by auto. replace (val q) with (bpow radix2 k * val s) by auto.
  generalize (bpow_gt_0 radix2 k). intros. unfold Rmax.
  destruct (Rle_dec (bpow radix2 k * val r) (bpow radix2 k * val s)), (Rle_dec (val r) (val s)); try reflexivity; nra.
Qed.

Lemma power_side : forall k, ((k < 0)%Z -> bpow radix2 k < 1) /\ ((0 < k)%Z -> 1 < bpow radix2 k).
Proof. intros k. split; intros H; [apply (bpow_lt radix2 k 0)|apply (bpow_lt radix2 0 k)]; exact H. Qed.

Ltac sign_of_power :=
  match goal with K : Z.ltb _ _ = true |- _ => apply Z.ltb_lt in K end;
  match goal with S : (_ -> bpow radix2 _ < 1), K : (_ < 0)%Z |- _ => specialize (S K)
  | S : (_ -> 1 < bpow radix2 _), K : (0 < _)%Z |- _ => specialize (S K) end.

Lemma ratio_le {x y k l h} : Ratio x y k -> Range y l h ->
  fin l && fin h && (Z.eqb k 0 || Z.ltb k 0 && le zero l || Z.ltb 0 k && le h zero) = true -> Le x y.
Proof.
  intros. open_facts. facts. destruct (power_side k) as [S T].
  replace (val x) with (bpow radix2 k * val y) by auto. either; [either|].
  - match goal with K : Z.eqb k 0 = true |- _ => apply Z.eqb_eq in K; rewrite K end. simpl. lra.
  - open_facts; sign_of_power; values. nra.
  - open_facts; sign_of_power; values. nra.
Qed.

Lemma ratio_lt {x y k l h} : Ratio x y k -> Range y l h ->
  fin l && fin h && (Z.ltb k 0 && lt zero l || Z.ltb 0 k && lt h zero) = true -> Lt x y.
Proof.
  intros. open_facts. facts. destruct (power_side k) as [S T].
  replace (val x) with (bpow radix2 k * val y) by auto. either.
  - open_facts; sign_of_power; values. nra.
  - open_facts; sign_of_power; values. nra.
Qed.

(* The constant 2^k. *)
Definition is_power (c : f64) (k : Z) : bool := eq c (num 1 k) && Z.leb (-1022) k && Z.leb k 1023.

Lemma num_power : forall k, (-1022 <= k <= 1023)%Z -> fin (num 1 k) = true /\ val (num 1 k) = bpow radix2 k.
Proof.
  intros k K.
  assert (E : F2R (Float radix2 1 k) = bpow radix2 k) by (unfold F2R; simpl Fnum; simpl Fexp; ring).
  assert (G : rnd (bpow radix2 k) = bpow radix2 k).
  { apply round_generic; auto with typeclass_instances. apply generic_format_bpow.
    unfold SpecFloat.fexp, SpecFloat.emin, precision, largest_exponent. lia. }
  generalize (binary_normalize_correct precision largest_exponent precision_positive precision_below mode_NE 1 k false).
  cbv zeta. rewrite E. change (round_mode mode_NE) with ZnearestE. rewrite G.
  rewrite Rlt_bool_true; [intros H; split; apply H|].
  rewrite Rabs_pos_eq by apply bpow_ge_0. apply bpow_lt. unfold largest_exponent. lia.
Qed.

Lemma power_val : forall x c k, Range x c c -> fin c && is_power c k = true -> val x = bpow radix2 k.
Proof.
  unfold is_power. intros x c k R H. open_facts.
  match goal with A : Z.leb (-1022) k = true, B : Z.leb k 1023 = true |- _ => apply Z.leb_le in A; apply Z.leb_le in B end.
  destruct (num_power k) as [F V]; [lia|].
  match goal with A : eq c _ = true |- _ => unfold eq in A; rewrite Beqb_correct in A by assumption; revert A end.
  case Req_bool_spec; [intros A _; lra | discriminate].
Qed.

(* A product with a power of two is exact unless it is below the normal numbers. *)
Lemma scale_exact : forall (x z : f64) k, fin z = true -> val z = rnd (val x * bpow radix2 k) ->
  ((0 <= k)%Z \/ smallest < Rabs (val z)) -> val z = bpow radix2 k * val x.
Proof.
  intros x z k F V [K|N].
  - rewrite V. rewrite round_generic; auto with typeclass_instances; [ring|].
    apply format_times; [exact K|apply generic_format_B2R].
  - rewrite V in N. apply normal_before in N. rewrite V.
    assert (G : generic_format radix2 exponents (val x * bpow radix2 k)).
    { change exponents with (FLT_exp (-1074) 53). destruct (Req_dec (val x) 0) as [->|X].
      - rewrite Rmult_0_l. apply generic_format_0.
      - apply mult_bpow_exact_FLT; auto with typeclass_instances.
        + apply (generic_format_B2R precision largest_exponent x).
        + assert (-1022 < mag radix2 (val x * bpow radix2 k))%Z.
          { apply mag_gt_bpow. exact N. }
          rewrite mag_mult_bpow in * by exact X. lia. }
    rewrite round_generic; auto with typeclass_instances. ring.
Qed.

Definition lossless (k : Z) (l h : f64) : bool := Z.leb 0 k || normal l h.

Lemma lossless_val : forall z k l h, Range z l h -> lossless k l h = true -> (0 <= k)%Z \/ smallest < Rabs (val z).
Proof.
  unfold lossless. intros z k l h R H. apply orb_prop in H. destruct H as [H|H].
  - left. apply Z.leb_le. exact H.
  - right. exact (normal_val z l h R H).
Qed.

Lemma ratio_scale_mul {x c z v u w l h k} : Range x u w -> Range c v v -> Range z l h -> product z x c ->
  fin v && is_power v k && lossless k l h = true -> Ratio z x k.
Proof.
  intros X C Z P H. apply andb_prop in H. destruct H as [H L].
  assert (V := power_val c v k C H). assert (N := lossless_val z k l h Z L). open_facts. facts.
  apply scale_exact; auto. rewrite (product_val z x c P) by assumption. rewrite V. reflexivity.
Qed.

Lemma ratio_scale_div {x c v u w l h k n} : Range x u w -> Range c v v -> Range (div x c) l h ->
  fin v && is_power v k && lossless n l h && Z.eqb n (- k) = true -> Ratio (div x c) x n.
Proof.
  intros X C Z H. apply andb_prop in H. destruct H as [H E]. apply Z.eqb_eq in E.
  apply andb_prop in H. destruct H as [H L].
  assert (V := power_val c v k C H). assert (N := lossless_val _ n l h Z L). open_facts. facts.
  apply scale_exact; auto.
  rewrite div_val; auto; rewrite V; [|generalize (bpow_gt_0 radix2 k); lra].
  unfold Rdiv. rewrite E, bpow_opp. reflexivity.
Qed.

Lemma ratio_constant {x y v w k n} : Range x v v -> Range y w w ->
  fin v && fin w && fin (num 1 k) && is_power (num 1 k) k && fin (mul w (num 1 k)) && eq v (mul w (num 1 k))
    && normal v v && lossless k v v && Z.eqb n k = true -> Ratio x y n.
Proof.
  intros X Y H. open_facts.
  match goal with A : Z.eqb n k = true |- _ => apply Z.eqb_eq in A; subst n end.
  assert (V : val (num 1 k) = bpow radix2 k).
  { apply (power_val (num 1 k) (num 1 k) k); [repeat split; auto; lra|]. apply andb_true_intro. split; assumption. }
  assert (E : val v = val (mul w (num 1 k))).
  { match goal with A : eq v _ = true |- _ => unfold eq in A; rewrite Beqb_correct in A by assumption; revert A end.
    case Req_bool_spec; [trivial | discriminate]. }
  assert (N : (0 <= k)%Z \/ smallest < Rabs (val (mul w (num 1 k)))).
  { rewrite <- E. apply (lossless_val v k v v); [repeat split; auto; lra | assumption]. }
  assert (S : val (mul w (num 1 k)) = bpow radix2 k * val w).
  { apply scale_exact; auto. rewrite mul_val, V by assumption. reflexivity. }
  facts. replace (val x) with (val v) by lra. replace (val y) with (val w) by lra. lra.
Qed.

(* Powers: repeated multiplication, of a base that is not negative. *)

Lemma factors_fin : forall x y, fin (mul x y) = true -> fin x = true /\ fin y = true.
Proof.
  intros x y F. unfold mul in F. generalize (Bmult_correct _ _ _ _ mode_NE x y).
  case Rlt_bool; intros H.
  - destruct H as [_ [H _]]. rewrite H in F. apply andb_prop in F. exact F.
  - rewrite (overflow_infinite _ _ H) in F. discriminate.
Qed.

Definition power (x : f64) (k : nat) : f64 := Nat.iter k (fun p => mul p x) (num 1 0).

Lemma power_0 : forall x, fin (power x 0) = true /\ val (power x 0) = 1.
Proof. intros x. split; [reflexivity | exact one_val]. Qed.

Lemma power_base : forall x y k, fin x = true -> fin y = true -> 0 <= val x <= val y -> fin (power y k) = true ->
  fin (power x k) = true /\ 0 <= val (power x k) <= val (power y k).
Proof.
  intros x y k Fx Fy H. induction k as [|k IH]; intros F.
  - destruct (power_0 x) as [A B]. destruct (power_0 y) as [C D]. split; [exact A | lra].
  - change (power y (S k)) with (mul (power y k) y) in *. change (power x (S k)) with (mul (power x k) x).
    destruct (factors_fin _ _ F) as [Fk _]. destruct (IH Fk) as [Gx Bx].
    assert (V := mul_val _ _ F).
    assert (L : 0 <= rnd (val (power x k) * val x) <= val (mul (power y k) y)).
    { rewrite V. split.
      - rewrite <- rnd_0. apply rnd_le. nra.
      - apply rnd_le. nra. }
    assert (G : fin (mul (power x k) x) = true).
    { apply (mul_fin _ _ zero (mul (power y k) y)); auto. }
    split; [exact G|]. rewrite mul_val by exact G. exact L.
Qed.

Lemma power_up : forall x k n, fin x = true -> 1 <= val x -> fin (power x (n + k)) = true ->
  fin (power x k) = true /\ val (power x k) <= val (power x (n + k)).
Proof.
  intros x k n Fx H. induction n as [|n IH]; intros F; [split; [exact F | simpl; lra]|].
  change (power x (S n + k)) with (mul (power x (n + k)) x) in *.
  destruct (factors_fin _ _ F) as [Fk _]. destruct (IH Fk) as [G B]. split; [exact G|].
  apply Rle_trans with (1 := B). rewrite mul_val by exact F. apply rnd_ge_val.
  assert (P : 0 <= val (power x (n + k))) by (apply (power_base x x (n + k) Fx Fx); [lra | exact Fk]).
  assert (val (power x (n + k)) * 1 <= val (power x (n + k)) * val x) by (apply Rmult_le_compat_l; lra). lra.
Qed.

Lemma power_down : forall x k n, fin x = true -> 0 <= val x <= 1 ->
  fin (power x (n + k)) = true /\ 0 <= val (power x (n + k)) /\ (fin (power x k) = true -> val (power x (n + k)) <= val (power x k)).
Proof.
  intros x k n Fx H.
  assert (A : forall j, fin (power x j) = true /\ 0 <= val (power x j) /\ val (power x (S j)) <= val (power x j)).
  { assert (S : forall p, fin p = true -> 0 <= val p ->
      fin (mul p x) = true /\ 0 <= val (mul p x) /\ val (mul p x) <= val p).
    { intros p Fp Pp.
      assert (B : val zero <= rnd (val p * val x) <= val p).
      { rewrite zero_val. split; [rewrite <- rnd_0; apply rnd_le; nra | apply rnd_le_val; nra]. }
      assert (F : fin (mul p x) = true) by (apply (mul_fin p x zero p); auto).
      rewrite zero_val in B. split; [exact F|]. rewrite mul_val by exact F. lra. }
    induction j as [|j [F [P L]]].
    - destruct (power_0 x) as [A B]. destruct (S (power x 0) A) as [C [D E]]; [lra|].
      split; [exact A|]. split; [lra | exact E].
    - destruct (S (power x j) F P) as [C [D E]]. change (power x (Datatypes.S j)) with (mul (power x j) x) in *.
      destruct (S _ C D) as [G [I J]]. split; [exact C|]. split; [exact D | exact J]. }
  destruct (A (n + k)%nat) as [F [P _]]. split; [exact F|]. split; [exact P|]. intros _.
  clear F P. induction n as [|n IH]; [simpl; lra|].
  destruct (A (n + k)%nat) as [_ [_ L]]. change (S n + k)%nat with (S (n + k)). lra.
Qed.

Lemma times_le : forall x y, fin x = true -> fin y = true -> val x <= val y -> (times x <= times y)%nat.
Proof.
  intros x y Fx Fy H.
  assert (T : forall z : f64, fin z = true -> times z = Z.to_nat (Z.min (Ztrunc (val z)) 65536)).
  { intros z Fz. assert (E : Btrunc z = Ztrunc (val z)).
    { apply eq_IZR. rewrite (Btrunc_correct _ _ precision_below).
      unfold round, scaled_mantissa, F2R, cexp, FIX_exp. simpl. rewrite !Rmult_1_r. reflexivity. }
    rewrite <- E. destruct z; try discriminate Fz; reflexivity. }
  rewrite (T x Fx), (T y Fy). assert (Ztrunc (val x) <= Ztrunc (val y))%Z by (apply Ztrunc_le; exact H). lia.
Qed.

Lemma pow_range {x y l h k g low high} : Range x l h -> Range y k g ->
  corners pow l h k g low high && le zero l = true -> Range (pow x y) low high.
Proof.
  unfold corners. intros Rx Ry H. open_facts.
  change (pow x y) with (power x (times y)). change pow with (fun a b => power a (times b)) in *. cbv beta in *.
  values.
  assert (T1 : (times k <= times y)%nat) by (apply times_le; assumption).
  assert (T2 : (times y <= times g)%nat) by (apply times_le; assumption).
  assert (U : fin (power h (times y)) = true /\ val (power h (times y)) <= val high).
  { destruct (Rle_or_lt 1 (val h)).
    - replace (times g) with ((times g - times y) + times y)%nat in * by lia.
      destruct (power_up h (times y) (times g - times y)); auto. split; [assumption | lra].
    - destruct (power_down h (times k) (times y - times k)) as [F [_ D]]; auto; [lra|].
      replace ((times y - times k) + times k)%nat with (times y) in * by lia.
      split; [exact F|]. apply Rle_trans with (val (power h (times k))); [apply D; assumption | lra]. }
  destruct U as [Fh Uh].
  assert (Bx : 0 <= val x <= val h) by lra. assert (Bl : 0 <= val l <= val x) by lra.
  assert (Gx : fin x = true) by assumption. assert (Gh : fin h = true) by assumption. assert (Gl : fin l = true) by assumption.
  destruct (power_base x h (times y) Gx Gh Bx Fh) as [Fx [_ Ux]].
  destruct (power_base l x (times y) Gl Gx Bl Fx) as [Fl [_ Lx]].
  split; [exact Fx|]. split; [|lra].
  apply Rle_trans with (val (power l (times y))); [|exact Lx].
  destruct (Rle_or_lt 1 (val l)).
  - replace (times y) with ((times y - times k) + times k)%nat in Fl |- * by lia.
    destruct (power_up l (times k) (times y - times k)) as [_ B]; auto. lra.
  - destruct (power_down l (times y) (times g - times y)) as [_ [_ D]]; auto; [lra|].
    replace ((times g - times y) + times y)%nat with (times g) in * by lia.
    specialize (D Fl). lra.
Qed.

(* Of a base of at most 1 no power overflows, and the corners where powers are large need not be computed. *)
Lemma pow_range_small {x y l h k g low high} : Range x l h -> Range y k g ->
  fin l && fin h && fin k && fin g && fin low && fin high && le zero l && le h one && le low (pow l g) && le (pow h k) high
    = true -> Range (pow x y) low high.
Proof.
  intros Rx Ry H. open_facts.
  change (pow x y) with (power x (times y)). change pow with (fun a b => power a (times b)) in *. cbv beta in *.
  assert (Sx : forall z : f64, fin z = true -> 0 <= val z <= 1 -> forall j, fin (power z j) = true).
  { intros z Fz Bz j. destruct (power_down z 0 j Fz Bz) as [F _]. rewrite Nat.add_0_r in F. exact F. }
  assert (B : 0 <= val l /\ val h <= 1) by (values; lra).
  assert (Fl : fin (power l (times g)) = true) by (apply Sx; [assumption | lra]).
  assert (Fh : fin (power h (times k)) = true) by (apply Sx; [assumption | lra]).
  values.
  assert (T1 : (times k <= times y)%nat) by (apply times_le; assumption).
  assert (T2 : (times y <= times g)%nat) by (apply times_le; assumption).
  assert (Gx : fin x = true) by assumption. assert (Gh : fin h = true) by assumption. assert (Gl : fin l = true) by assumption.
  assert (Fhy : fin (power h (times y)) = true) by (apply Sx; [assumption | lra]).
  assert (Bx : 0 <= val x <= val h) by lra. assert (Bl : 0 <= val l <= val x) by lra.
  destruct (power_base x h (times y) Gx Gh Bx Fhy) as [Fx [_ Ux]].
  destruct (power_base l x (times y) Gl Gx Bl Fx) as [Fly [_ Lx]].
  assert (Bh : 0 <= val h <= 1) by lra. assert (Bl1 : 0 <= val l <= 1) by lra.
  destruct (power_down h (times k) (times y - times k) Gh Bh) as [_ [_ Dh]].
  replace ((times y - times k) + times k)%nat with (times y) in Dh by lia. specialize (Dh Fh).
  destruct (power_down l (times y) (times g - times y) Gl Bl1) as [_ [_ Dl]].
  replace ((times g - times y) + times y)%nat with (times g) in Dl by lia. specialize (Dl Fly).
  split; [exact Fx | lra].
Qed.

Lemma pow_le {p q n k g a b c d} : Le p q -> Range p k g -> Range (pow p n) a b -> Range (pow q n) c d ->
  fin k && le zero k = true -> Le (pow p n) (pow q n).
Proof.
  intros. open_facts. values. facts.
  assert (B : 0 <= val p <= val q) by lra.
  apply (power_base p q (times n)); assumption.
Qed.

Lemma quotient_itself {x k g l h low high} : Le x x -> Range x k g -> Range (div x x) l h ->
  fin k && lt zero k && within low high one = true -> Range (div x x) low high.
Proof.
  intros O R Q H. open_facts. values. split; [assumption|].
  rewrite div_val by (auto; lra). replace (val x / val x) with 1 by (field; lra). rewrite rnd_1. lra.
Qed.

(* Numbers that differ have a difference that is not zero. *)
Definition tiny : f64 := num 1 (-1074).

Lemma difference_nonzero : forall x y : f64, val x < val y -> 0 < rnd (val y - val x).
Proof.
  intros x y H. unfold Rminus. rewrite <- neg_val.
  destruct (Rle_or_lt smallest (Rabs (val y + val (neg x)))) as [A|A].
  - apply Rlt_le_trans with smallest; [apply bpow_gt_0|].
    rewrite neg_val in *. rewrite Rabs_pos_eq in A by lra.
    rewrite <- (round_generic radix2 exponents ZnearestE smallest smallest_format). apply rnd_le. exact A.
  - rewrite sum_exact by exact A. rewrite neg_val. lra.
Qed.

Lemma tiny_least : forall z : f64, fin z = true -> 0 < val z -> val tiny <= val z.
Proof.
  intros z F H. replace (val tiny) with (val (Bsucc zero)) by (vm_compute; reflexivity).
  apply succ_le; auto.
Qed.

Lemma difference_above_strict {x y l h low high} : Lt x y -> Range (sub y x) l h ->
  fin l && fin h && fin low && fin high && le h high && (le low l || le low tiny) = true -> Range (sub y x) low high.
Proof.
  intros O R H. open_facts. values.
  assert (P : 0 < val (sub y x)) by (rewrite sub_val by assumption; apply difference_nonzero; assumption).
  assert (T := tiny_least (sub y x)). assert (fin tiny = true) by reflexivity.
  split; [assumption|]. split; [|lra]. either; values; [lra|]. apply Rle_trans with (val tiny); auto.
Qed.

Lemma difference_below_strict {x y l h low high} : Lt x y -> Range (sub x y) l h ->
  fin l && fin h && fin low && fin high && le low l && (le h high || le (neg tiny) high) = true ->
  Range (sub x y) low high.
Proof.
  intros O R H. open_facts. values.
  assert (P : val (sub x y) < 0).
  { assert (D := difference_nonzero x y). rewrite sub_val by assumption.
    replace (val x - val y) with (- (val y - val x)) by ring. rewrite round_NE_opp. assert (val x < val y) by assumption. lra. }
  assert (T := tiny_least (neg (sub x y))). rewrite neg_fin, neg_val in T.
  assert (fin (neg tiny) = true) by reflexivity.
  split; [assumption|]. split; [lra|]. either; values; [lra|]. rewrite neg_val in *.
  assert (val tiny <= - val (sub x y)) by (apply T; [assumption | lra]). lra.
Qed.

(* Square roots and magnitudes. *)

Lemma sqrt_val : forall x, val (sqrt x) = rnd (R_sqrt.sqrt (val x)).
Proof. intros x. unfold sqrt. destruct (Bsqrt_correct _ _ _ _ mode_NE x) as [V _]. exact V. Qed.

Lemma sqrt_fin : forall x, fin x = true -> 0 <= val x -> fin (sqrt x) = true.
Proof.
  intros x F P. unfold sqrt. destruct (Bsqrt_correct _ _ _ _ mode_NE x) as [_ [V _]]. rewrite V.
  destruct x as [s|s| |s m e B]; try discriminate; auto.
  destruct s; auto. exfalso. apply (Rlt_irrefl 0). apply Rle_lt_trans with (1 := P).
  unfold B2R. apply F2R_lt_0. reflexivity.
Qed.

Lemma sqrt_range {x l h low high} : Range x l h ->
  le zero l && fin l && fin h && within low high (sqrt l) && within low high (sqrt h) = true -> Range (sqrt x) low high.
Proof.
  intros R H. open_facts. values. rewrite sqrt_val in *.
  split; [apply sqrt_fin; [assumption | lra]|]. rewrite sqrt_val.
  assert (rnd (R_sqrt.sqrt (val l)) <= rnd (R_sqrt.sqrt (val x))) by (apply rnd_le, sqrt_le_1_alt; lra).
  assert (rnd (R_sqrt.sqrt (val x)) <= rnd (R_sqrt.sqrt (val h))) by (apply rnd_le, sqrt_le_1_alt; lra). lra.
Qed.

Lemma sqrt_le {p q l h} : Le p q -> Range p l h -> fin l && le zero l = true -> Le (sqrt p) (sqrt q).
Proof.
  intros. open_facts. values.
  repeat split; try (apply sqrt_fin; [assumption | lra]). rewrite !sqrt_val. apply rnd_le, sqrt_le_1_alt. lra.
Qed.

Lemma abs_val : forall x, val (abs x) = Rabs (val x).
Proof. intros. unfold abs. apply B2R_Babs. Qed.

Lemma abs_fin : forall x, fin (abs x) = fin x.
Proof. intros. unfold abs. apply is_finite_Babs. Qed.

Lemma abs_range {x l h low high} : Range x l h ->
  fin l && fin h && fin low && fin high && le (neg l) high && le h high
    && (le low zero || lt zero l && le low l || lt h zero && le low (neg h)) = true -> Range (abs x) low high.
Proof.
  intros R H. open_facts.
  assert (fin (neg l) = true) by (rewrite neg_fin; assumption).
  assert (fin (neg h) = true) by (rewrite neg_fin; assumption).
  split; [rewrite abs_fin; assumption|]. rewrite abs_val.
  assert (D : val low <= Rabs (val x)).
  { either; [either|]; open_facts; values; try rewrite neg_val in *.
    - apply Rle_trans with 0; [assumption | apply Rabs_pos].
    - rewrite Rabs_pos_eq; lra.
    - rewrite Rabs_left; lra. }
  values. rewrite neg_val in *. split; [exact D|]. apply Rabs_le. lra.
Qed.

Lemma abs_above {x l h} : Range x l h -> Le x (abs x).
Proof. intros. open_facts. facts; [rewrite abs_fin; assumption|]. rewrite abs_val. apply Rle_abs. Qed.

Lemma abs_below {x l h} : Range x l h -> fin l && le zero l = true -> Le (abs x) x.
Proof.
  intros. open_facts. values. facts; [rewrite abs_fin; assumption|]. rewrite abs_val, Rabs_pos_eq; lra.
Qed.

(* What is divided and multiplied again, but for the roundings. *)

Definition above_one : f64 := num 1125899906842625 (-50).
Definition below_one : f64 := num 1125899906842623 (-50).

Lemma above_one_val : val above_one = 1 + / 1125899906842624.
Proof. unfold above_one. vm_compute. lra. Qed.
Lemma below_one_val : val below_one = 1 - / 1125899906842624.
Proof. unfold below_one. vm_compute. lra. Qed.

Definition unit_roundoff : R := / 9007199254740992.

(* A positive normal result is the exact one, but for one rounding. *)
Lemma one_rounding : forall r, 0 < r -> smallest < rnd r ->
  r * (1 - unit_roundoff) <= rnd r <= r * (1 + unit_roundoff).
Proof.
  intros r P H.
  assert (S : smallest <= Rabs r).
  { apply normal_before. apply Rlt_le_trans with (1 := H). apply Rle_abs. }
  assert (E : Rabs (rnd r - r) <= / 2 * bpow radix2 (- precision + 1) * Rabs r).
  { apply (relative_error_N_FLT radix2 (-1074) precision); [reflexivity|].
    exact S. }
  rewrite (Rabs_pos_eq r) in E by lra.
  assert (U : / 2 * bpow radix2 (- precision + 1) = unit_roundoff) by (unfold unit_roundoff; simpl; lra).
  rewrite U in E. apply Rabs_le_inv in E. unfold unit_roundoff in *. lra.
Qed.

Lemma undone : forall a t, 0 < a -> 0 < t -> smallest < rnd (a / t) -> smallest < rnd (rnd (a / t) * t) ->
  a * ((1 - unit_roundoff) * (1 - unit_roundoff)) <= rnd (rnd (a / t) * t) <= a * ((1 + unit_roundoff) * (1 + unit_roundoff)).
Proof.
  intros a t A T Q N.
  assert (D : 0 < a / t) by (apply Rdiv_lt_0_compat; assumption).
  assert (Z : 0 < smallest) by apply bpow_gt_0.
  destruct (one_rounding _ D Q) as [L H].
  assert (P : 0 < rnd (a / t) * t) by (apply Rmult_lt_0_compat; lra).
  destruct (one_rounding _ P N) as [L2 H2].
  assert (E : a = a / t * t) by (field; lra).
  assert (M1 : a / t * (1 - unit_roundoff) * t <= rnd (a / t) * t) by (apply Rmult_le_compat_r; lra).
  assert (M2 : rnd (a / t) * t <= a / t * (1 + unit_roundoff) * t) by (apply Rmult_le_compat_r; lra).
  assert (U : 0 <= unit_roundoff <= 1) by (unfold unit_roundoff; lra).
  split.
  - apply Rle_trans with (2 := L2). rewrite E at 1.
    replace (a / t * t * ((1 - unit_roundoff) * (1 - unit_roundoff)))
      with (a / t * (1 - unit_roundoff) * t * (1 - unit_roundoff)) by ring.
    apply Rmult_le_compat_r; lra.
  - apply Rle_trans with (1 := H2). rewrite E at 2.
    replace (a / t * t * ((1 + unit_roundoff) * (1 + unit_roundoff)))
      with (a / t * (1 + unit_roundoff) * t * (1 + unit_roundoff)) by ring.
    apply Rmult_le_compat_r; lra.
Qed.

Lemma undo_below {a t n m c l h k g r s u v w i j} : Range a l h -> Range t k g -> Range (div a t) r s -> Range n u v ->
  Range c w w -> Range m i j -> product n (div a t) t -> product m a c ->
  fin l && lt zero l && fin k && lt zero k && fin r && lt least r && fin u && lt least u && fin i && lt least i
    && fin w && le above_one w = true -> Le n m.
Proof.
  intros A T Q N C M Pn Pm H. open_facts.
  assert (fin least = true) by reflexivity. assert (fin above_one = true) by reflexivity. values.
  rewrite least_val in *. rewrite above_one_val in *. facts.
  assert (Z : 0 < smallest) by apply bpow_gt_0.
  assert (Vm := product_val m a c Pm). assert (Vn := product_val n (div a t) t Pn).
  rewrite div_val in * by (assumption || lra).
  rewrite Vn in * by assumption. rewrite Vm in * by assumption.
  destruct (undone (val a) (val t)) as [_ B]; try lra.
  assert (P : 0 < val a * val c) by (apply Rmult_lt_0_compat; lra).
  destruct (one_rounding _ P) as [L _]; [lra|].
  apply Rle_trans with (1 := B). apply Rle_trans with (2 := L).
  replace (val a * val c * (1 - unit_roundoff)) with (val a * (val c * (1 - unit_roundoff))) by ring.
  apply Rmult_le_compat_l; [lra|]. unfold unit_roundoff. nra.
Qed.

Lemma undo_above {a t n m c l h k g r s u v w i j} : Range a l h -> Range t k g -> Range (div a t) r s -> Range m u v ->
  Range c w w -> Range n i j -> product m (div a t) t -> product n a c ->
  fin l && lt zero l && fin k && lt zero k && fin r && lt least r && fin u && lt least u && fin i && lt least i
    && fin w && le w below_one = true -> Le n m.
Proof.
  intros A T Q M C N Pm Pn H. open_facts.
  assert (fin least = true) by reflexivity. assert (fin below_one = true) by reflexivity. values.
  rewrite least_val in *. rewrite below_one_val in *. facts.
  assert (Z : 0 < smallest) by apply bpow_gt_0.
  assert (Vn := product_val n a c Pn). assert (Vm := product_val m (div a t) t Pm).
  rewrite div_val in * by (assumption || lra).
  rewrite Vn in * by assumption. rewrite Vm in * by assumption.
  destruct (undone (val a) (val t)) as [B _]; try lra.
  assert (P : 0 < val a * val c).
  { destruct (Rle_or_lt (val a * val c) 0) as [L|]; [|assumption].
    assert (rnd (val a * val c) <= rnd 0) by (apply rnd_le; assumption). rewrite rnd_0 in *. lra. }
  destruct (one_rounding _ P) as [_ L]; [lra|].
  apply Rle_trans with (1 := L). apply Rle_trans with (2 := B).
  replace (val a * val c * (1 + unit_roundoff)) with (val a * (val c * (1 + unit_roundoff))) by ring.
  apply Rmult_le_compat_l; [lra|]. unfold unit_roundoff. nra.
Qed.

(* Values that differ are as far apart as neighbours. *)

Notation below y := (pred radix2 exponents y).
Notation last_place y := (ulp radix2 exponents y).

Lemma format : forall x : f64, generic_format radix2 exponents (val x).
Proof. intros x. apply generic_format_B2R. Qed.

Lemma exponents_monotone : Monotone_exp exponents.
Proof. apply fexp_monotone. Qed.

Lemma neighbour : forall y : f64, 0 < val y -> 0 <= below (val y) /\ val y = below (val y) + last_place (below (val y)).
Proof.
  intros y P.
  assert (B : 0 <= below (val y)) by (apply pred_ge_0; auto using format with typeclass_instances).
  split; [exact B|].
  rewrite <- (succ_pred radix2 exponents (val y)) at 1 by apply format. apply succ_eq_pos. exact B.
Qed.

Lemma apart : forall x y k : f64, val x < val y -> 0 < val k -> val k <= val y ->
  val k - below (val k) <= val y - val x.
Proof.
  intros x y k L P K.
  destruct (neighbour k P) as [Bk Ek]. destruct (neighbour y) as [By Ey]; [lra|].
  assert (N : val x <= below (val y)) by (apply pred_ge_gt; auto using format with typeclass_instances).
  assert (below (val k) <= below (val y)) by (apply pred_le; auto using format with typeclass_instances).
  assert (last_place (below (val k)) <= last_place (below (val y))) by (apply ulp_le_pos; [apply exponents_valid | apply exponents_monotone | lra | lra]).
  lra.
Qed.

Lemma gap {x y k g l h low high} : Lt x y -> Range y k g -> Range (sub y x) l h ->
  fin k && lt zero k && fin (Bpred k) && fin (sub k (Bpred k)) && fin l && fin h && fin low && fin high && le h high
    && (le low l || le low (sub k (Bpred k))) = true -> Range (sub y x) low high.
Proof.
  intros O Ry R H. open_facts. values.
  split; [assumption|]. split; [|lra].
  either; values; [lra|]. apply Rle_trans with (val (sub k (Bpred k))); [assumption|].
  rewrite !sub_val by assumption. apply rnd_le.
  assert (V : val (Bpred k) = below (val k)).
  { assert (F : fin k = true) by assumption. generalize (Bpred_correct _ _ _ _ k F).
    case Rlt_bool_spec; intros P Q; [apply Q|].
    exfalso. assert (fin (Bpred k) = true) by assumption. destruct (Bpred k); try discriminate; simpl in Q; discriminate. }
  rewrite V. apply apart; lra.
Qed.

Definition under_one : f64 := num 9007199254740991 (-53).
Lemma under_one_val : val under_one = 1 - / 9007199254740992.
Proof. unfold under_one. vm_compute. lra. Qed.

Lemma below_share : forall x y : f64, val x < val y -> 0 < val y -> val x / val y <= 1 - / 9007199254740992.
Proof.
  intros x y L P. destruct (neighbour y P) as [B E].
  assert (N : val x <= below (val y)) by (apply pred_ge_gt; auto using format with typeclass_instances).
  set (p := below (val y)) in *.
  assert (U : val y <= 9007199254740992 * last_place p).
  { destruct (Req_dec p 0) as [Z|Z].
    - rewrite E. rewrite Z. generalize (ulp_ge_0 radix2 exponents 0). lra.
    - assert (M := bpow_mag_gt radix2 p).
      assert (V : val y <= bpow radix2 (mag radix2 p)).
      { rewrite E. apply id_p_ulp_le_bpow; auto.
        - lra.
        - apply generic_format_pred; auto using format with typeclass_instances.
        - rewrite Rabs_pos_eq in M by lra. exact M. }
      assert (W : last_place p = bpow radix2 (exponents (mag radix2 p))) by (apply ulp_neq_0; exact Z).
      assert (X : bpow radix2 (mag radix2 p - 53) <= last_place p).
      { rewrite W. apply bpow_le. unfold SpecFloat.fexp. unfold precision. lia. }
      assert (S : bpow radix2 (-53) = / 9007199254740992) by (simpl; lra).
      replace (mag radix2 p - 53)%Z with (mag radix2 p + -53)%Z in X by lia.
      rewrite (bpow_plus radix2 (mag radix2 p) (-53)), S in X. lra. }
  apply Rmult_le_reg_r with (val y); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma quotient_below_strict {x y k g l h low high} : Lt x y -> Range y k g -> Range (div x y) l h ->
  fin k && fin l && fin h && fin low && fin high && lt zero k && le low l && (le h high || le under_one high) = true ->
  Range (div x y) low high.
Proof.
  intros O Ry R H. open_facts.
  assert (fin under_one = true) by reflexivity. values.
  split; [assumption|]. split; [lra|].
  assert (val (div x y) <= val under_one).
  { rewrite div_val by (auto; lra). rewrite <- (rnd_val under_one). apply rnd_le. rewrite under_one_val.
    apply below_share; lra. }
  either; values; lra.
Qed.

(* How the conditions of a rule are checked: by computing. *)
Ltac side := vm_compute; reflexivity.

Strategy 1000 [add sub mul div floor ceil sqrt abs pow].
