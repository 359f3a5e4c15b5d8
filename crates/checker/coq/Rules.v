(* The rules of roofline-checker, each proven once over Flocq's IEEE-754 binary64.

   A certificate is a list of facts, each of which follows from earlier ones by one of these lemmas. Facts are about computed floats,
   rounded to nearest even. Every fact includes finiteness, so nothing overflows where a fact holds. *)

From Coq Require Import ZArith Reals Lra Lia Bool List.
From Flocq Require Import Core BinarySingleNaN Plus_error Mult_error Relative Operations.
Import ListNotations.

Open Scope R_scope.

(* Floats and their operations. *)

Definition precision : Z := 53.
Definition largest_exponent : Z := 1024.

#[global] Instance precision_positive : Prec_gt_0 precision. Proof. reflexivity. Qed.
#[global] Instance precision_below : Prec_lt_emax precision largest_exponent. Proof. reflexivity. Qed.

Definition f64 := binary_float precision largest_exponent.
(* m * 2^e, rounded. Every constant of a contract is exactly of this form. *)
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
(* Number of multiplications by x in x^n, at most 65536. *)
Definition times (n : f64) : nat :=
  match n with B754_infinity false => Z.to_nat 65536 | _ => Z.to_nat (Z.min (Btrunc n) 65536) end.
Definition pow (x n : f64) : f64 := Nat.iter (times n) (fun p => mul p x) (num 1 0).

(* Building blocks of theorem statements. *)

Definition between (low high x : f64) : Prop := le low x = true /\ le x high = true.
Definition whole (x : f64) : bool := eq (floor x) x.

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

(* A value between two finite floats does not overflow. *)
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

(* Comparisons of floats, as statements about reals. *)

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

(* c is within the limits, all finite. *)
Definition within (low high c : f64) : bool := fin low && fin high && fin c && le low c && le c high.

Lemma within_val : forall low high c, within low high c = true ->
  fin low = true /\ fin high = true /\ fin c = true /\ val low <= val c <= val high.
Proof.
  unfold within. intros low high c H.
  repeat (apply andb_prop in H; destruct H as [H ?]).
  repeat split; auto using le_val.
Qed.

(* Unfolds facts into statements about reals. *)
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

(* Turns computed comparisons into statements about reals. *)
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

(* Some corner is a lower bound, some corner an upper bound. *)
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

(* The second limits are within the first. *)
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

(* Case distinctions and contradictions. *)

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

(* A real that rounds to a normal number is at least the smallest normal number. *)
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

(* Sums of floats in the subnormal range are exact. *)
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

(* A finite quotient has a nonzero divisor. *)
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

(* A product with a power of two is exact unless it is subnormal. *)
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

(* Powers: repeated multiplication of a nonnegative base. *)

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

(* Powers of a base of at most 1 do not overflow, so the corners with large powers need not be computed. *)
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

(* Different floats have a nonzero difference. *)
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

(* Square roots and absolute values. *)

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

(* Different floats are at least as far apart as adjacent floats. *)

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

(* Integers. *)

Definition Whole (x : f64) : Prop := fin x = true /\ exists z, val x = IZR z.

Lemma whole_domain {x low high} : between low high x -> whole x = true -> fin low && fin high = true -> Whole x.
Proof.
  intros B W F. destruct (domain B F) as [Fx _]. split; [exact Fx|]. exists (Zfloor (val x)).
  unfold whole, eq in W. rewrite Beqb_correct in W by (rewrite ?floor_fin; exact Fx).
  revert W. case Req_bool_spec; [|discriminate]. rewrite floor_val. intros; auto.
Qed.

Lemma whole_constant {m e} : fin (num m e) && whole (num m e) = true -> Whole (num m e).
Proof.
  intros H. apply andb_prop in H. destruct H as [F W]. split; [exact F|]. exists (Zfloor (val (num m e))).
  unfold whole, eq in W. rewrite Beqb_correct in W by (rewrite ?floor_fin; exact F).
  revert W. case Req_bool_spec; [|discriminate]. rewrite floor_val. intros; auto.
Qed.

Lemma whole_floor {x l h} : Range x l h -> Whole (floor x).
Proof. intros [F _]. split; [rewrite floor_fin; exact F|]. exists (Zfloor (val x)). apply floor_val. Qed.

Lemma whole_ceil {x l h} : Range x l h -> Whole (ceil x).
Proof. intros [F _]. split; [rewrite ceil_fin; exact F|]. exists (Zceil (val x)). apply ceil_val. Qed.

Lemma whole_neg {x} : Whole x -> Whole (neg x).
Proof. intros [F [z E]]. split; [rewrite neg_fin; exact F|]. exists (- z)%Z. rewrite neg_val, E, opp_IZR. reflexivity. Qed.

Lemma whole_abs {x} : Whole x -> Whole (abs x).
Proof. intros [F [z E]]. split; [rewrite abs_fin; exact F|]. exists (Z.abs z). rewrite abs_val, E, abs_IZR. reflexivity. Qed.

Lemma whole_min {x y} : Whole x -> Whole y -> Whole (min x y).
Proof. intros X Y. unfold min. destruct (lt x y); assumption. Qed.

Lemma whole_max {x y} : Whole x -> Whole y -> Whole (max x y).
Proof. intros X Y. unfold max. destruct (lt y x); assumption. Qed.

Lemma whole_if {c : bool} {x y} : Whole x -> Whole y -> Whole (if c then x else y).
Proof. intros X Y. destruct c; assumption. Qed.

Definition most_whole : f64 := num 1 53.
Lemma most_whole_val : val most_whole = 9007199254740992.
Proof. unfold most_whole. vm_compute. lra. Qed.

Lemma whole_format : forall z, Rabs (IZR z) <= 9007199254740992 -> generic_format radix2 exponents (IZR z).
Proof.
  intros z H. destruct (Rle_lt_or_eq_dec _ _ H) as [L|E].
  - apply (generic_format_FLT radix2 (-1074) precision). exists (Float radix2 z 0).
    + unfold F2R. simpl. ring.
    + simpl. apply lt_IZR. rewrite abs_IZR. exact L.
    + simpl. lia.
  - assert (S : generic_format radix2 exponents 9007199254740992) by (rewrite <- most_whole_val; apply generic_format_B2R).
    revert E. unfold Rabs. case Rcase_abs; intros _ E.
    + replace (IZR z) with (- (9007199254740992)) by lra. apply generic_format_opp. exact S.
    + rewrite E. exact S.
Qed.

(* An integer that rounds to less than 2^53 is representable. *)
Lemma whole_round : forall z, Rabs (rnd (IZR z)) < 9007199254740992 -> rnd (IZR z) = IZR z.
Proof.
  intros z H. apply round_generic; auto with typeclass_instances. apply whole_format.
  destruct (Rle_or_lt (Rabs (IZR z)) 9007199254740992) as [L|L]; [exact L|]. exfalso.
  assert (M := rnd_val most_whole). rewrite most_whole_val in M.
  revert L. unfold Rabs at 1. case Rcase_abs; intros S L.
  - assert (A : rnd (IZR z) <= rnd (- (9007199254740992))) by (apply rnd_le; lra).
    rewrite round_NE_opp, M in A. apply Rabs_def2 in H. lra.
  - assert (A : rnd 9007199254740992 <= rnd (IZR z)) by (apply rnd_le; lra).
    rewrite M in A. apply Rabs_def2 in H. lra.
Qed.

Definition small_whole (l h : f64) : bool := fin l && fin h && lt (neg most_whole) l && lt h most_whole.

Lemma small_whole_val : forall x l h, Range x l h -> small_whole l h = true -> Rabs (val x) < 9007199254740992.
Proof.
  unfold small_whole. intros x l h R H. open_facts.
  assert (fin most_whole = true) by reflexivity. assert (fin (neg most_whole) = true) by reflexivity. values.
  rewrite neg_val in *. rewrite most_whole_val in *. apply Rabs_def1; lra.
Qed.

Lemma sum_whole : forall x y l h, Whole x -> Whole y -> Range (add x y) l h -> small_whole l h = true ->
  val (add x y) = val x + val y /\ Whole (add x y).
Proof.
  intros x y l h [Fx [a A]] [Fy [b B]] R H. assert (V := small_whole_val _ _ _ R H). destruct R as [F _].
  assert (E : val (add x y) = val x + val y).
  { rewrite add_val in * by assumption. rewrite A, B, <- plus_IZR in *. apply whole_round. exact V. }
  split; [exact E|]. split; [exact F|]. exists (a + b)%Z. rewrite E, A, B, plus_IZR. reflexivity.
Qed.

Lemma difference_whole : forall x y l h, Whole x -> Whole y -> Range (sub x y) l h -> small_whole l h = true ->
  val (sub x y) = val x - val y /\ Whole (sub x y).
Proof.
  intros x y l h [Fx [a A]] [Fy [b B]] R H. assert (V := small_whole_val _ _ _ R H). destruct R as [F _].
  assert (E : val (sub x y) = val x - val y).
  { rewrite sub_val in * by assumption. rewrite A, B, <- minus_IZR in *. apply whole_round. exact V. }
  split; [exact E|]. split; [exact F|]. exists (a - b)%Z. rewrite E, A, B, minus_IZR. reflexivity.
Qed.

Lemma product_whole : forall x y l h, Whole x -> Whole y -> Range (mul x y) l h -> small_whole l h = true ->
  val (mul x y) = val x * val y /\ Whole (mul x y).
Proof.
  intros x y l h [Fx [a A]] [Fy [b B]] R H. assert (V := small_whole_val _ _ _ R H). destruct R as [F _].
  assert (E : val (mul x y) = val x * val y).
  { rewrite mul_val in * by assumption. rewrite A, B, <- mult_IZR in *. apply whole_round. exact V. }
  split; [exact E|]. split; [exact F|]. exists (a * b)%Z. rewrite E, A, B, mult_IZR. reflexivity.
Qed.

Lemma whole_add {x y l h} : Whole x -> Whole y -> Range (add x y) l h -> small_whole l h = true -> Whole (add x y).
Proof. intros. eapply sum_whole; eassumption. Qed.
Lemma whole_sub {x y l h} : Whole x -> Whole y -> Range (sub x y) l h -> small_whole l h = true -> Whole (sub x y).
Proof. intros. eapply difference_whole; eassumption. Qed.
Lemma whole_mul {x y l h} : Whole x -> Whole y -> Range (mul x y) l h -> small_whole l h = true -> Whole (mul x y).
Proof. intros. eapply product_whole; eassumption. Qed.

(* The range of an integer can be rounded inward to integers. *)
Lemma inward {x l h low high} : Whole x -> Range x l h ->
  fin l && fin h && within low high (ceil l) && within low high (floor h) = true -> Range x low high.
Proof.
  intros [_ [z E]] R H. open_facts. rewrite ceil_val, floor_val in *. split; [assumption|].
  assert (IZR (Zceil (val l)) <= val x) by (rewrite E in *; apply IZR_le, Zceil_glb; assumption).
  assert (val x <= IZR (Zfloor (val h))) by (rewrite E in *; apply IZR_le, Zfloor_lub; assumption).
  lra.
Qed.

Lemma whole_equal {x y} : Le x y -> Le y x -> Whole y -> Whole x.
Proof. intros A B [_ [z E]]. open_facts. split; [assumption|]. exists z. lra. Qed.

Lemma floor_whole {x l h} : Range x l h -> Whole x -> Le x (floor x).
Proof. intros R [F [z E]]. unfold Le. rewrite floor_fin, floor_val, E, Zfloor_IZR. facts. lra. Qed.

Lemma ceil_whole {x l h} : Range x l h -> Whole x -> Le (ceil x) x.
Proof. intros R [F [z E]]. unfold Le. rewrite ceil_fin, ceil_val, E, Zceil_IZR. facts. lra. Qed.

(* Multiples: quotients of integers below 2^53 are not rounded past an integer. *)

Lemma quotient_error : forall c l, 1 <= c < 9007199254740992 -> 1 <= l -> l <= 9007199254740992 ->
  c / l * (1 - / 9007199254740992) <= rnd (c / l) <= c / l * (1 + / 9007199254740992).
Proof.
  intros c l C L M. assert (D : 0 < c / l) by (apply Rdiv_lt_0_compat; lra).
  assert (P : (0 < precision)%Z) by reflexivity.
  assert (S : bpow radix2 (-1074 + precision - 1) <= Rabs (c / l)).
  { rewrite Rabs_pos_eq by lra. apply Rle_trans with (bpow radix2 (-53)).
    - apply bpow_le. unfold precision. lia.
    - assert (E : bpow radix2 (-53) = / 9007199254740992) by (simpl; lra). rewrite E.
      apply Rle_trans with (1 * / l); [rewrite Rmult_1_l; apply Rinv_le_contravar; lra|].
      unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | lra]. }
  destruct (relative_error_N_FLT_ex radix2 (-1074) precision P (fun z => negb (Z.even z)) (c / l) S) as [e [B F]].
  assert (U : / 2 * bpow radix2 (- precision + 1) = / 9007199254740992) by (simpl; lra).
  rewrite U in B. apply Rabs_le_inv in B.
  change (rnd (c / l)) with (round radix2 (FLT_exp (-1074) precision) (Znearest (fun z => negb (Z.even z))) (c / l)).
  rewrite F. split; apply Rmult_le_compat_l; lra.
Qed.

Lemma whole_ge_1 : forall x, Whole x -> 0 < val x -> 1 <= val x.
Proof. intros x [_ [z E]] H. rewrite E in *. apply lt_IZR in H. apply IZR_le. lia. Qed.

Lemma multiple_up : forall c l, Whole c -> Whole l -> 0 <= val c < 9007199254740992 -> 0 < val l <= 9007199254740992 ->
  val c <= IZR (Zceil (rnd (val c / val l))) * val l.
Proof.
  intros c l C L B P. destruct (Rle_or_lt (val c) (IZR (Zceil (rnd (val c / val l))) * val l)) as [H|H]; [exact H|]. exfalso.
  assert (Ll := whole_ge_1 l L (proj1 P)).
  destruct (Req_dec (val c) 0) as [Z|Z].
  { rewrite Z in H. unfold Rdiv in H. rewrite Rmult_0_l, rnd_0 in H. assert (E : Zceil 0 = 0%Z) by (rewrite (Zceil_IZR 0); reflexivity).
    rewrite E in H. lra. }
  assert (Cc : 1 <= val c) by (apply whole_ge_1; auto; lra).
  destruct (quotient_error (val c) (val l)) as [E _]; try lra.
  assert (U := Zceil_ub (rnd (val c / val l))). set (q := Zceil (rnd (val c / val l))) in *.
  destruct C as [_ [m Em]]. destruct L as [_ [n En]].
  assert (K : val c - 1 < IZR q * val l).
  { apply Rlt_le_trans with (val c / val l * (1 - / 9007199254740992) * val l).
    - replace (val c / val l * (1 - / 9007199254740992) * val l) with (val c * (1 - / 9007199254740992)) by (field; lra). lra.
    - apply Rmult_le_compat_r; lra. }
  rewrite Em, En in *. rewrite <- mult_IZR in *. rewrite <- minus_IZR in K. apply lt_IZR in K. apply lt_IZR in H. lia.
Qed.

Lemma multiple_down : forall c l, Whole c -> Whole l -> 0 <= val c < 9007199254740992 -> 0 < val l <= 9007199254740992 ->
  IZR (Zfloor (rnd (val c / val l))) * val l <= val c.
Proof.
  intros c l C L B P. destruct (Rle_or_lt (IZR (Zfloor (rnd (val c / val l))) * val l) (val c)) as [H|H]; [exact H|]. exfalso.
  assert (Ll := whole_ge_1 l L (proj1 P)).
  destruct (Req_dec (val c) 0) as [Z|Z].
  { rewrite Z in H. unfold Rdiv in H. rewrite Rmult_0_l, rnd_0 in H. assert (E : Zfloor 0 = 0%Z) by (rewrite (Zfloor_IZR 0); reflexivity).
    rewrite E in H. lra. }
  assert (Cc : 1 <= val c) by (apply whole_ge_1; auto; lra).
  destruct (quotient_error (val c) (val l)) as [_ E]; try lra.
  assert (U := Zfloor_lb (rnd (val c / val l))). set (q := Zfloor (rnd (val c / val l))) in *.
  destruct C as [_ [m Em]]. destruct L as [_ [n En]].
  assert (K : IZR q * val l < val c + 1).
  { apply Rle_lt_trans with (val c / val l * (1 + / 9007199254740992) * val l).
    - apply Rmult_le_compat_r; lra.
    - replace (val c / val l * (1 + / 9007199254740992) * val l) with (val c * (1 + / 9007199254740992)) by (field; lra). lra. }
  rewrite Em, En in *. rewrite <- mult_IZR in *. rewrite <- plus_IZR in K. apply lt_IZR in K. apply lt_IZR in H. lia.
Qed.

Lemma multiple_above {c l n a b k g r s i j} : Whole c -> Whole l -> Range c a b -> Range l k g -> Range (div c l) r s -> Range n i j ->
  product n (ceil (div c l)) l ->
  fin a && fin b && fin k && fin g && le zero a && lt b most_whole && lt zero k && le g most_whole = true -> Le c n.
Proof.
  intros C L Rc Rl Rq Rn P H. open_facts. assert (fin most_whole = true) by reflexivity. values. rewrite most_whole_val in *.
  facts. rewrite (product_val _ _ _ P) by assumption. rewrite ceil_val, div_val by (assumption || lra).
  rewrite <- (rnd_val c) at 1. apply rnd_le. apply multiple_up; auto; lra.
Qed.

Lemma multiple_below {c l n a b k g r s i j} : Whole c -> Whole l -> Range c a b -> Range l k g -> Range (div c l) r s -> Range n i j ->
  product n (floor (div c l)) l ->
  fin a && fin b && fin k && fin g && le zero a && lt b most_whole && lt zero k && le g most_whole = true -> Le n c.
Proof.
  intros C L Rc Rl Rq Rn P H. open_facts. assert (fin most_whole = true) by reflexivity. values. rewrite most_whole_val in *.
  facts. rewrite (product_val _ _ _ P) by assumption. rewrite floor_val, div_val by (assumption || lra).
  rewrite <- (rnd_val c) at 2. apply rnd_le. apply multiple_down; auto; lra.
Qed.

Lemma remainder {c l n a b k g r s i j u v} : Whole c -> Whole l -> Range c a b -> Range l k g -> Range (div c l) r s -> Range n i j ->
  Range (sub c n) u v -> product n (floor (div c l)) l ->
  fin a && fin b && fin k && fin g && le zero a && lt b most_whole && lt zero k && le g most_whole = true -> Lt (sub c n) l.
Proof.
  intros C L Rc Rl Rq Rn Rd P H. open_facts. assert (fin most_whole = true) by reflexivity. values. rewrite most_whole_val in *.
  facts. rewrite sub_val, (product_val _ _ _ P), floor_val, div_val by (assumption || lra).
  assert (D := multiple_down c l C L). assert (Ll := whole_ge_1 l L).
  set (q := Zfloor (rnd (val c / val l))) in *.
  assert (N : (0 <= q)%Z).
  { unfold q. apply Zfloor_lub. rewrite <- rnd_0. apply rnd_le. unfold Rdiv. apply Rmult_le_pos; [lra|].
    left. apply Rinv_0_lt_compat. lra. }
  apply IZR_le in N.
  assert (E : 0 <= IZR q * val l) by (apply Rmult_le_pos; lra).
  assert (K : val c < (IZR q + 1) * val l).
  { destruct (Rlt_or_le (val c) ((IZR q + 1) * val l)) as [K|K]; [exact K|]. exfalso.
    assert (M : IZR q + 1 <= val c / val l).
    { apply Rmult_le_reg_r with (val l); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (M2 : val c / val l <= val c).
    { apply Rmult_le_reg_r with (val l); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
      assert (val c * 1 <= val c * val l) by (apply Rmult_le_compat_l; lra). lra. }
    assert (G : rnd (IZR q + 1) <= rnd (val c / val l)) by (apply rnd_le; exact M).
    rewrite <- plus_IZR in G. rewrite (round_generic radix2 exponents ZnearestE (IZR (q + 1))) in G.
    - assert (F : (q + 1 <= q)%Z) by (unfold q at 2; apply Zfloor_lub; exact G). lia.
    - apply whole_format. rewrite plus_IZR, Rabs_pos_eq; lra. }
  destruct C as [_ [x Ex]]. destruct L as [_ [y Ey]].
  assert (W : rnd (IZR q * val l) = IZR q * val l).
  { rewrite Ey, <- mult_IZR. apply round_generic; auto with typeclass_instances. apply whole_format.
    rewrite mult_IZR, <- Ey. rewrite Rabs_pos_eq by exact E. assert (IZR q * val l <= val c) by (apply D; lra). lra. }
  rewrite W. assert (IZR q * val l <= val c) by (apply D; lra).
  assert (V : rnd (val c - IZR q * val l) = val c - IZR q * val l).
  { rewrite Ey, Ex, <- mult_IZR, <- minus_IZR. apply round_generic; auto with typeclass_instances. apply whole_format.
    rewrite minus_IZR, mult_IZR, <- Ex, <- Ey. rewrite Rabs_pos_eq; lra. }
  rewrite V. lra.
Qed.

(* Powers and their exponents. *)

Lemma pow_less {x e f l h a b c d} : Le e f -> Range x l h -> Range (pow x f) a b -> Range (pow x e) c d ->
  fin l && fin h && le zero l && le h one = true -> Le (pow x f) (pow x e).
Proof.
  intros. open_facts. values. facts. assert (T : (times e <= times f)%nat) by (apply times_le; assumption).
  change (pow x f) with (power x (times f)) in *. change (pow x e) with (power x (times e)) in *.
  assert (Fx : fin x = true) by assumption. assert (B : 0 <= val x <= 1) by lra.
  destruct (power_down x (times e) (times f - times e) Fx B) as [_ [_ D]].
  replace ((times f - times e) + times e)%nat with (times f) in D by lia. apply D. assumption.
Qed.

Lemma pow_more {x e f l h a b c d} : Le e f -> Range x l h -> Range (pow x e) a b -> Range (pow x f) c d ->
  fin l && le one l = true -> Le (pow x e) (pow x f).
Proof.
  intros. open_facts. values. facts. assert (T : (times e <= times f)%nat) by (apply times_le; assumption).
  change (pow x f) with (power x (times f)) in *. change (pow x e) with (power x (times e)) in *.
  assert (Fx : fin x = true) by assumption. assert (B : 1 <= val x) by lra.
  replace (times f) with ((times f - times e) + times e)%nat in * by lia.
  apply (power_up x (times e) (times f - times e) Fx B). assumption.
Qed.

Lemma power_1 : forall x, fin x = true -> fin (power x 1) = true /\ val (power x 1) = val x.
Proof.
  intros x F. change (power x 1) with (mul one x).
  assert (E : rnd (val one * val x) = val x) by (rewrite one_val, Rmult_1_l; apply rnd_val).
  assert (G : fin (mul one x) = true) by (apply (mul_fin one x x x); auto; rewrite E; lra).
  split; [exact G|]. rewrite mul_val by exact G. exact E.
Qed.

Lemma times_one : times one = 1%nat.
Proof. vm_compute. reflexivity. Qed.

Lemma times_once : forall e k g, Range e k g -> fin k = true -> val one <= val k -> (1 <= times e)%nat.
Proof. intros e k g R F H. open_facts. rewrite <- times_one. apply times_le; auto. lra. Qed.

Lemma pow_once_below {x e l h k g a b} : Range x l h -> Range e k g -> Range (pow x e) a b ->
  fin l && fin h && fin k && le zero l && le h one && le one k = true -> Le (pow x e) x.
Proof.
  intros X E P H. open_facts. values. facts.
  assert (T : (1 <= times e)%nat) by (apply (times_once e k g); [repeat split; assumption | assumption | rewrite one_val; lra]).
  change (pow x e) with (power x (times e)) in *.
  assert (Fx : fin x = true) by assumption. assert (B : 0 <= val x <= 1) by lra. destruct (power_1 x Fx) as [F1 V1].
  destruct (power_down x 1 (times e - 1) Fx B) as [_ [_ D]].
  replace ((times e - 1) + 1)%nat with (times e) in D by lia. rewrite <- V1. apply D. assumption.
Qed.

Lemma pow_once_above {x e l h k g a b} : Range x l h -> Range e k g -> Range (pow x e) a b ->
  fin l && fin k && le one l && le one k = true -> Le x (pow x e).
Proof.
  intros X E P H. open_facts. values. facts.
  assert (T : (1 <= times e)%nat) by (apply (times_once e k g); [repeat split; assumption | assumption | rewrite one_val; lra]).
  change (pow x e) with (power x (times e)) in *.
  assert (Fx : fin x = true) by assumption. assert (B : 1 <= val x) by lra. destruct (power_1 x Fx) as [F1 V1].
  replace (times e) with ((times e - 1) + 1)%nat in * by lia. rewrite <- V1.
  apply (power_up x 1 (times e - 1) Fx B). assumption.
Qed.

Lemma pow_once_same : forall x e k g, Range x k g -> Range e one one -> fin (pow x e) = true /\ val (pow x e) = val x.
Proof.
  intros x e k g X E. open_facts. change (pow x e) with (power x (times e)).
  assert (T : times e = 1%nat).
  { assert (fin one = true) by reflexivity.
    assert ((times e <= times one)%nat) by (apply times_le; auto; lra).
    assert ((times one <= times e)%nat) by (apply times_le; auto; lra). rewrite times_one in *. lia. }
  rewrite T. apply power_1. assumption.
Qed.

Lemma pow_itself_below {x e k g} : Range x k g -> Range e (num 1 0) (num 1 0) -> Le (pow x e) x.
Proof. intros X E. destruct (pow_once_same x e k g X E). destruct X. facts. lra. Qed.
Lemma pow_itself_above {x e k g} : Range x k g -> Range e (num 1 0) (num 1 0) -> Le x (pow x e).
Proof. intros X E. destruct (pow_once_same x e k g X E). destruct X. facts. lra. Qed.

(* Reals: a value as a quotient of polynomials in nonnegative variables. Coefficients are intervals, which account for rounding. All
   computations are exact. *)

Definition dyadic := float radix2.
Notation real := (@F2R radix2).

Definition dyadic_of (x : f64) : dyadic :=
  match x with B754_finite s m e _ => Float radix2 (cond_Zopp s (Zpos m)) e | _ => Float radix2 0 0 end.

Lemma dyadic_val : forall x, real (dyadic_of x) = val x.
Proof. intros [s|s| |s m e B]; simpl; try reflexivity; unfold F2R; simpl; ring. Qed.

Definition lesser (a b : dyadic) : dyadic := if (Fnum (Fminus a b) <=? 0)%Z then a else b.
Definition greater (a b : dyadic) : dyadic := if (Fnum (Fminus a b) <=? 0)%Z then b else a.

Lemma Fminus_sign : forall a b : dyadic, if (Fnum (Fminus a b) <=? 0)%Z then real a <= real b else real b <= real a.
Proof.
  intros a b. assert (E := F2R_minus a b).
  destruct (Z.leb_spec (Fnum (Fminus a b)) 0) as [H|H].
  - assert (real (Fminus a b) <= 0) by (apply F2R_le_0; exact H). lra.
  - assert (0 <= real (Fminus a b)) by (apply F2R_ge_0; lia). lra.
Qed.

Lemma lesser_val : forall a b, real (lesser a b) <= real a /\ real (lesser a b) <= real b.
Proof. intros a b. unfold lesser. generalize (Fminus_sign a b). destruct (_ <=? _)%Z; lra. Qed.
Lemma greater_val : forall a b, real a <= real (greater a b) /\ real b <= real (greater a b).
Proof. intros a b. unfold greater. generalize (Fminus_sign a b). destruct (_ <=? _)%Z; lra. Qed.

Definition interval := (dyadic * dyadic)%type.
Definition has (i : interval) (c : R) : Prop := real (fst i) <= c <= real (snd i).

Definition iadd (i j : interval) : interval := (Fplus (fst i) (fst j), Fplus (snd i) (snd j)).
Definition imul (i j : interval) : interval :=
  let a := Fmult (fst i) (fst j) in let b := Fmult (fst i) (snd j) in
  let c := Fmult (snd i) (fst j) in let d := Fmult (snd i) (snd j) in
  (lesser (lesser a b) (lesser c d), greater (greater a b) (greater c d)).
Definition point (x : f64) : interval := (dyadic_of x, dyadic_of x).

Lemma iadd_has : forall i j c d, has i c -> has j d -> has (iadd i j) (c + d).
Proof. unfold has, iadd. intros [a b] [e f] c d; simpl. rewrite !F2R_plus. lra. Qed.

Lemma imul_has : forall i j c d, has i c -> has j d -> has (imul i j) (c * d).
Proof.
  unfold has, imul. intros [a b] [e f] c d Hc Hd. cbn [fst snd] in *.
  assert (P := F2R_mult a e). assert (Q := F2R_mult a f).
  assert (S := F2R_mult b e). assert (T := F2R_mult b f).
  generalize (lesser_val (Fmult a e) (Fmult a f)) (lesser_val (Fmult b e) (Fmult b f))
    (lesser_val (lesser (Fmult a e) (Fmult a f)) (lesser (Fmult b e) (Fmult b f)))
    (greater_val (Fmult a e) (Fmult a f)) (greater_val (Fmult b e) (Fmult b f))
    (greater_val (greater (Fmult a e) (Fmult a f)) (greater (Fmult b e) (Fmult b f))). intros.
  destruct (corner_below (real a) (real b) (real e) (real f) c d Hc Hd) as [L|[L|[L|L]]];
  destruct (corner_above (real a) (real b) (real e) (real f) c d Hc Hd) as [U|[U|[U|U]]]; lra.
Qed.

Lemma point_has : forall x, has (point x) (val x).
Proof. intros. unfold has, point. simpl. rewrite dyadic_val. lra. Qed.

(* A product of variables, as a list of exponents. *)
Definition monomial := list nat.

Fixpoint mmul (a b : monomial) : monomial :=
  match a, b with [], _ => b | _, [] => a | x :: a', y :: b' => (x + y)%nat :: mmul a' b' end.

Fixpoint meval (v : list R) (m : monomial) : R :=
  match m with [] => 1 | x :: m' => hd 0 v ^ x * meval (tl v) m' end.

Lemma mmul_val : forall a b v, meval v (mmul a b) = meval v a * meval v b.
Proof.
  induction a as [|x a IH]; intros [|y b] v; simpl; try ring. rewrite IH, pow_add. ring.
Qed.

Fixpoint meq (a b : monomial) : bool :=
  match a, b with [], [] => true | x :: a', y :: b' => Nat.eqb x y && meq a' b' | _, _ => false end.

Lemma meq_val : forall a b, meq a b = true -> a = b.
Proof.
  induction a as [|x a IH]; intros [|y b] H; try discriminate; auto. simpl in H.
  apply andb_prop in H. destruct H as [E F]. apply Nat.eqb_eq in E. rewrite E, (IH b F). reflexivity.
Qed.

Lemma meval_nonnegative : forall m v, Forall (fun r => 0 <= r) v -> 0 <= meval v m.
Proof.
  induction m as [|x m IH]; intros v H; simpl; [lra|].
  assert (0 <= hd 0 v) by (destruct H; simpl; lra).
  assert (Forall (fun r => 0 <= r) (tl v)) by (destruct H; simpl; auto).
  apply Rmult_le_pos; [apply Rfunctions.pow_le; assumption | apply IH; assumption].
Qed.

Definition polynomial := list (monomial * interval).

Fixpoint Sum (v : list R) (p : polynomial) (r : R) : Prop :=
  match p with
  | [] => r = 0
  | (m, i) :: q => exists c s, has i c /\ Sum v q s /\ r = c * meval v m + s
  end.

Fixpoint pterm (m : monomial) (i : interval) (p : polynomial) : polynomial :=
  match p with
  | [] => [(m, i)]
  | (n, j) :: q => if meq m n then (n, iadd i j) :: q else (n, j) :: pterm m i q
  end.

Definition padd (p q : polynomial) : polynomial := fold_right (fun t => pterm (fst t) (snd t)) q p.
Definition pscale (m : monomial) (i : interval) (p : polynomial) : polynomial :=
  map (fun t => (mmul m (fst t), imul i (snd t))) p.
Definition pmul (p q : polynomial) : polynomial := fold_right (fun t => padd (pscale (fst t) (snd t) q)) [] p.

Lemma pterm_sum : forall v m i c p s, has i c -> Sum v p s -> Sum v (pterm m i p) (c * meval v m + s).
Proof.
  intros v m i c p. induction p as [|[n j] p IH]; intros s H S; simpl in *.
  - exists c, 0. subst s. auto.
  - destruct S as [d [t [D [T E]]]]. case_eq (meq m n); intros M.
    + apply meq_val in M. subst n. exists (c + d), t. split; [apply iadd_has; assumption|]. split; [exact T|]. subst s. ring.
    + exists d, (c * meval v m + t). split; [exact D|]. split; [apply IH; assumption|]. subst s. ring.
Qed.

Lemma padd_sum : forall v p q r s, Sum v p r -> Sum v q s -> Sum v (padd p q) (r + s).
Proof.
  intros v p. induction p as [|[m i] p IH]; intros q r s P Q; simpl in *.
  - subst r. rewrite Rplus_0_l. exact Q.
  - destruct P as [c [t [C [T E]]]]. subst r. rewrite Rplus_assoc. apply pterm_sum; auto.
Qed.

Lemma pscale_sum : forall v m i c p r, has i c -> Sum v p r -> Sum v (pscale m i p) (c * meval v m * r).
Proof.
  intros v m i c p. induction p as [|[n j] p IH]; intros r H P; simpl in *.
  - subst r. ring.
  - destruct P as [d [t [D [T E]]]]. exists (c * d), (c * meval v m * t).
    split; [apply imul_has; assumption|]. split; [apply IH; assumption|]. subst r. rewrite mmul_val. ring.
Qed.

Lemma pmul_sum : forall v p q r s, Sum v p r -> Sum v q s -> Sum v (pmul p q) (r * s).
Proof.
  intros v p. induction p as [|[m i] p IH]; intros q r s P Q; simpl in *.
  - subst r. ring.
  - destruct P as [c [t [C [T E]]]]. subst r. rewrite Rmult_plus_distr_r.
    apply padd_sum; [apply pscale_sum; assumption | apply IH; assumption].
Qed.

Definition minus_one : interval := (Float radix2 (-1) 0, Float radix2 (-1) 0).
Definition pneg (p : polynomial) : polynomial := pscale [] minus_one p.
Definition pconst (i : interval) : polynomial := [([], i)].
Definition pone : polynomial := pconst (Float radix2 1 0, Float radix2 1 0).
(* The variable with index i. *)
Definition pvar (i : nat) : polynomial := [(repeat 0%nat i ++ [1%nat], (Float radix2 1 0, Float radix2 1 0))].

Lemma one_real : real (Float radix2 1 0) = 1.
Proof. unfold F2R; simpl; ring. Qed.

Lemma pneg_sum : forall v p r, Sum v p r -> Sum v (pneg p) (- r).
Proof.
  intros v p r P. replace (- r) with (-1 * meval v [] * r) by (simpl; ring). apply pscale_sum; [|exact P].
  unfold has, minus_one, F2R; simpl. lra.
Qed.

Lemma pconst_sum : forall v i c, has i c -> Sum v (pconst i) c.
Proof. intros v i c H. exists c, 0. simpl. split; [exact H|]. split; [reflexivity | ring]. Qed.

Lemma pone_sum : forall v, Sum v pone 1.
Proof. intros v. apply pconst_sum. unfold has; simpl. rewrite one_real. lra. Qed.

Lemma pvar_sum : forall i v, Sum v (pvar i) (nth i v 0).
Proof.
  intros i v. exists 1, 0. split; [unfold has; simpl; rewrite one_real; lra|]. split; [reflexivity|].
  assert (E : meval v (repeat 0%nat i ++ [1%nat]) = nth i v 0).
  { revert v. induction i as [|i IH]; intros v; simpl.
    - destruct v; simpl; ring.
    - rewrite IH. destruct v; simpl; [destruct i|]; ring. }
  rewrite E. ring.
Qed.

(* Variables are differences: minuend, subtrahend, and an optional upper bound. *)
Definition gap_of := (f64 * f64 * option dyadic)%type.
Definition gaps := list gap_of.
Definition size (t : gap_of) : R := val (fst (fst t)) - val (snd (fst t)).
Definition sizes (g : gaps) : list R := map size g.
Definition fits (t : gap_of) : Prop := 0 <= size t /\ match snd t with Some b => size t <= real b | None => True end.
Definition Gaps (g : gaps) : Prop := Forall fits g.
Definition width (l h : f64) : option dyadic := Some (Fminus (dyadic_of h) (dyadic_of l)).

Lemma no_gap : Gaps [].
Proof. constructor. Qed.
Lemma gap_low {g x l h} : Range x l h -> Gaps g -> Gaps ((x, l, width l h) :: g).
Proof. intros [_ B] G. constructor; [|exact G]. unfold fits, size; simpl. rewrite F2R_minus, !dyadic_val. lra. Qed.
Lemma gap_high {g x l h} : Range x l h -> Gaps g -> Gaps ((h, x, width l h) :: g).
Proof. intros [_ B] G. constructor; [|exact G]. unfold fits, size; simpl. rewrite F2R_minus, !dyadic_val. lra. Qed.
Lemma gap_le {g x y} : Le x y -> Gaps g -> Gaps ((y, x, None) :: g).
Proof. intros [_ [_ B]] G. constructor; [|exact G]. unfold fits, size; simpl. lra. Qed.
Lemma gap_lt {g x y} : Lt x y -> Gaps g -> Gaps ((y, x, None) :: g).
Proof. intros [_ [_ B]] G. constructor; [|exact G]. unfold fits, size; simpl. lra. Qed.

Lemma sizes_nonnegative : forall g, Gaps g -> Forall (fun r => 0 <= r) (sizes g).
Proof. intros g G. unfold sizes. induction G as [|t g [P _] G IH]; constructor; auto. Qed.

Fixpoint dpow (b : dyadic) (n : nat) : dyadic := match n with O => Float radix2 1 0 | S k => Fmult b (dpow b k) end.

Lemma dpow_val : forall b n, real (dpow b n) = real b ^ n.
Proof. intros b n. induction n as [|n IH]; simpl; [apply one_real | rewrite F2R_mult, IH; reflexivity]. Qed.

(* Upper bounds of the variables. *)
Definition bounds := list (option dyadic).
Definition bounds_of (g : gaps) : bounds := map snd g.

(* Upper bound of a product of variables. *)
Fixpoint mtop (w : bounds) (m : monomial) : option dyadic :=
  match m, w with
  | [], _ => Some (Float radix2 1 0)
  | O :: m', _ => mtop (tl w) m'
  | n :: m', Some b :: w' => match mtop w' m' with Some t => Some (Fmult (dpow b n) t) | None => None end
  | _, _ => None
  end.

Lemma mtop_val : forall m g b, Gaps g -> mtop (bounds_of g) m = Some b -> meval (sizes g) m <= real b.
Proof.
  induction m as [|n m IH]; intros g b G H.
  - simpl in *. injection H as <-. rewrite one_real. lra.
  - assert (T : Gaps (tl g)) by (destruct G; simpl; [constructor | assumption]).
    assert (Z : sizes (tl g) = tl (sizes g)) by (destruct g; reflexivity).
    assert (Y : bounds_of (tl g) = tl (bounds_of g)) by (destruct g; reflexivity).
    destruct n as [|n].
    + simpl meval. rewrite <- Z, Rmult_1_l. apply IH; [exact T|]. rewrite Y. destruct g; exact H.
    + destruct g as [|[p [c|]] g]; try discriminate H. cbn [mtop bounds_of map snd] in H. fold (bounds_of g) in H.
      remember (mtop (bounds_of g) m) as o. destruct o as [t|]; [|discriminate H]. injection H as <-.
      inversion G as [|u v [P Q] W]; subst. simpl snd in Q.
      cbn [sizes map meval hd tl]. rewrite !F2R_mult, dpow_val. change (real c * real c ^ n) with (real c ^ S n).
      assert (N := meval_nonnegative m (sizes g) (sizes_nonnegative g W)).
      apply Rmult_le_compat; [apply Rfunctions.pow_le; exact P | exact N | apply pow_incr; split; assumption | apply IH; auto].
Qed.

(* Lower bound of a polynomial. *)
Definition tlow (w : bounds) (t : monomial * interval) : option dyadic :=
  let l := fst (snd t) in
  match fst t with
  | [] => Some l
  | m => if (0 <=? Fnum l)%Z then Some (Float radix2 0 0)
         else match mtop w m with Some b => Some (Fmult l b) | None => None end
  end.

Fixpoint plow (w : bounds) (p : polynomial) : option dyadic :=
  match p with
  | [] => Some (Float radix2 0 0)
  | t :: q => match tlow w t, plow w q with Some a, Some b => Some (Fplus a b) | _, _ => None end
  end.

Lemma zero_real : real (Float radix2 0 0) = 0.
Proof. unfold F2R; simpl; ring. Qed.

Lemma tlow_val : forall g m i b c, Gaps g -> has i c -> tlow (bounds_of g) (m, i) = Some b -> real b <= c * meval (sizes g) m.
Proof.
  intros g m [l h] b c G [L _] H. cbn [fst] in L. unfold tlow in H. cbn [fst snd] in H.
  assert (N := meval_nonnegative m (sizes g) (sizes_nonnegative g G)).
  destruct m as [|n m]; [injection H as <-; simpl meval; lra|]. revert H.
  case Z.leb_spec; intros S H.
  - injection H as <-. rewrite zero_real. apply F2R_ge_0 in S. apply Rmult_le_pos; lra.
  - remember (mtop (bounds_of g) (n :: m)) as o. destruct o as [t|]; [|discriminate H]. injection H as <-. rewrite F2R_mult.
    symmetry in Heqo. assert (T := mtop_val _ _ _ G Heqo). assert (real l <= 0) by (apply F2R_le_0; lia).
    apply Rle_trans with (real l * meval (sizes g) (n :: m)); [apply Rmult_le_compat_neg_l; assumption|].
    apply Rmult_le_compat_r; assumption.
Qed.

Lemma plow_val : forall g p r b, Gaps g -> Sum (sizes g) p r -> plow (bounds_of g) p = Some b -> real b <= r.
Proof.
  intros g p. induction p as [|[m i] p IH]; intros r b G S H; simpl in *.
  - injection H as <-. rewrite zero_real. lra.
  - destruct S as [c [s [C [T E]]]].
    remember (tlow (bounds_of g) (m, i)) as o. destruct o as [x|]; [|discriminate H].
    destruct (plow (bounds_of g) p) as [y|]; [|discriminate H]. injection H as <-. rewrite F2R_plus. subst r.
    assert (real x <= c * meval (sizes g) m) by (apply (tlow_val g m i); auto).
    assert (real y <= s) by (apply IH; auto). lra.
Qed.

Definition pnonnegative (w : bounds) (p : polynomial) : bool :=
  match plow w p with Some b => (0 <=? Fnum b)%Z | None => false end.
Definition ppositive (w : bounds) (p : polynomial) : bool :=
  match plow w p with Some b => (0 <? Fnum b)%Z | None => false end.

Lemma pnonnegative_val : forall g p r, Gaps g -> Sum (sizes g) p r -> pnonnegative (bounds_of g) p = true -> 0 <= r.
Proof.
  unfold pnonnegative. intros g p r G S H. assert (V := plow_val g p r). destruct (plow (bounds_of g) p) as [b|]; [|discriminate].
  apply Z.leb_le in H. apply F2R_ge_0 in H. assert (real b <= r) by auto. lra.
Qed.

Lemma ppositive_val : forall g p r, Gaps g -> Sum (sizes g) p r -> ppositive (bounds_of g) p = true -> 0 < r.
Proof.
  unfold ppositive. intros g p r G S H. assert (V := plow_val g p r). destruct (plow (bounds_of g) p) as [b|]; [|discriminate].
  apply Z.ltb_lt in H. apply F2R_gt_0 in H. assert (real b <= r) by auto. lra.
Qed.

Definition quotient := (polynomial * polynomial)%type.

Definition Equals (g : gaps) (q : quotient) (r : R) : Prop :=
  exists o u, Sum (sizes g) (fst q) o /\ Sum (sizes g) (snd q) u /\ 0 < u /\ r = o / u.
(* The value of a node and the exact value it is rounded from. *)
Definition Is (g : gaps) (q : quotient) (x : f64) : Prop := Equals g q (val x).
Definition Rounds (g : gaps) (q : quotient) (x : f64) : Prop := exists r, Equals g q r /\ val x = rnd r.

Definition qadd (a b : quotient) : quotient :=
  (padd (pmul (fst a) (snd b)) (pmul (fst b) (snd a)), pmul (snd a) (snd b)).
Definition qneg (a : quotient) : quotient := (pneg (fst a), snd a).
Definition qsub (a b : quotient) : quotient := qadd a (qneg b).
Definition qmul (a b : quotient) : quotient := (pmul (fst a) (fst b), pmul (snd a) (snd b)).
Definition qdiv (a b : quotient) : quotient := (pmul (fst a) (snd b), pmul (snd a) (fst b)).
Definition qnum (c : f64) : quotient := (pconst (point c), pone).
Definition qvar (i : nat) : quotient := (pvar i, pone).

Lemma qadd_equals : forall g a b r s, Equals g a r -> Equals g b s -> Equals g (qadd a b) (r + s).
Proof.
  intros g a b r s [o [u [O [U [P E]]]]] [o' [u' [O' [U' [P' E']]]]].
  exists (o * u' + o' * u), (u * u'). repeat split.
  - apply padd_sum; apply pmul_sum; assumption.
  - apply pmul_sum; assumption.
  - apply Rmult_lt_0_compat; assumption.
  - subst. field. lra.
Qed.

Lemma qneg_equals : forall g a r, Equals g a r -> Equals g (qneg a) (- r).
Proof.
  intros g a r [o [u [O [U [P E]]]]]. exists (- o), u. repeat split; auto.
  - apply pneg_sum; exact O.
  - subst. field. lra.
Qed.

Lemma qsub_equals : forall g a b r s, Equals g a r -> Equals g b s -> Equals g (qsub a b) (r - s).
Proof. intros. unfold qsub, Rminus. apply qadd_equals; [assumption | apply qneg_equals; assumption]. Qed.

Lemma qmul_equals : forall g a b r s, Equals g a r -> Equals g b s -> Equals g (qmul a b) (r * s).
Proof.
  intros g a b r s [o [u [O [U [P E]]]]] [o' [u' [O' [U' [P' E']]]]].
  exists (o * o'), (u * u'). repeat split; try (apply pmul_sum; assumption).
  - apply Rmult_lt_0_compat; assumption.
  - subst. field. lra.
Qed.

Lemma qdiv_equals : forall g a b r s, Equals g a r -> Equals g b s -> 0 < s -> Equals g (qdiv a b) (r / s).
Proof.
  intros g a b r s [o [u [O [U [P E]]]]] [o' [u' [O' [U' [P' E']]]]] H.
  assert (0 < o').
  { subst s. replace o' with (o' / u' * u') by (field; lra). apply Rmult_lt_0_compat; assumption. }
  exists (o * u'), (u * o'). repeat split; try (apply pmul_sum; assumption).
  - apply Rmult_lt_0_compat; assumption.
  - subst. field. lra.
Qed.

Lemma simple_equals : forall g p r, Sum (sizes g) p r -> Equals g (p, pone) r.
Proof. intros g p r H. exists r, 1. split; [exact H|]. split; [apply pone_sum|]. split; [lra | field]. Qed.

Lemma qnum_equals : forall g c, Equals g (qnum c) (val c).
Proof. intros. apply simple_equals, pconst_sum, point_has. Qed.

Lemma qvar_equals : forall g i x y w, nth_error g i = Some (x, y, w) -> Equals g (qvar i) (val x - val y).
Proof.
  intros g i x y w H. apply simple_equals. assert (P := pvar_sum i (sizes g)).
  assert (E : nth i (sizes g) 0 = val x - val y).
  { unfold sizes. apply nth_error_nth. erewrite map_nth_error; [|exact H]. reflexivity. }
  rewrite E in P. exact P.
Qed.

(* Nodes as quotients. *)

Lemma is_number {g x c} : Range x c c -> Is g (qnum c) x.
Proof. intros [_ B]. unfold Is. replace (val x) with (val c) by lra. apply qnum_equals. Qed.

Lemma is_above {g q x y i w} : nth_error g i = Some (y, x, w) -> Is g q x -> Is g (qadd q (qvar i)) y.
Proof.
  intros N H. unfold Is in *. replace (val y) with (val x + (val y - val x)) by ring.
  apply qadd_equals; [exact H | apply (qvar_equals g i _ _ w); exact N].
Qed.

Lemma is_below {g q x y i w} : nth_error g i = Some (y, x, w) -> Is g q y -> Is g (qsub q (qvar i)) x.
Proof.
  intros N H. unfold Is in *. replace (val x) with (val y - (val y - val x)) by ring.
  apply qsub_equals; [exact H | apply (qvar_equals g i _ _ w); exact N].
Qed.

Lemma is_low {g x l i w} : nth_error g i = Some (x, l, w) -> Is g (qadd (qnum l) (qvar i)) x.
Proof. intros N. apply (is_above N). apply qnum_equals. Qed.

Lemma is_high {g x h i w} : nth_error g i = Some (h, x, w) -> Is g (qsub (qnum h) (qvar i)) x.
Proof. intros N. apply (is_below N). apply qnum_equals. Qed.

Lemma is_neg {g q x} : Is g q x -> Is g (qneg q) (neg x).
Proof. intros H. unfold Is. rewrite neg_val. apply qneg_equals. exact H. Qed.

Lemma is_abs {g q x l h} : Is g q x -> Range x l h -> fin l && le zero l = true -> Is g q (abs x).
Proof. intros H R B. open_facts. values. unfold Is. rewrite abs_val, Rabs_pos_eq by lra. exact H. Qed.

Lemma rounds_itself {g q x} : Is g q x -> Rounds g q x.
Proof. intros H. exists (val x). split; [exact H | symmetry; apply rnd_val]. Qed.

Lemma rounds_add {g p q x y l h k i c d} : Is g p x -> Is g q y -> Range x l h -> Range y k i -> Range (add x y) c d ->
  Rounds g (qadd p q) (add x y).
Proof. intros. open_facts. eexists. split; [apply qadd_equals; eassumption | apply add_val; assumption]. Qed.

Lemma rounds_sub {g p q x y l h k i c d} : Is g p x -> Is g q y -> Range x l h -> Range y k i -> Range (sub x y) c d ->
  Rounds g (qsub p q) (sub x y).
Proof. intros. open_facts. eexists. split; [apply qsub_equals; eassumption | apply sub_val; assumption]. Qed.

Lemma rounds_mul {g p q x y c d} : Is g p x -> Is g q y -> Range (mul x y) c d -> Rounds g (qmul p q) (mul x y).
Proof. intros. open_facts. eexists. split; [apply qmul_equals; eassumption | apply mul_val; assumption]. Qed.

Lemma rounds_div {g p q x y k i c d} : Is g p x -> Is g q y -> Range y k i -> Range (div x y) c d ->
  fin k && lt zero k = true -> Rounds g (qdiv p q) (div x y).
Proof.
  intros. open_facts. values. eexists.
  split; [apply qdiv_equals; [eassumption | eassumption | lra] | apply div_val; [lra | assumption]].
Qed.

Lemma is_add_whole {g p q x y l h} : Is g p x -> Is g q y -> Whole x -> Whole y -> Range (add x y) l h ->
  small_whole l h = true -> Is g (qadd p q) (add x y).
Proof.
  intros P Q X Y R H. unfold Is. destruct (sum_whole _ _ _ _ X Y R H) as [E _]. rewrite E. apply qadd_equals; assumption.
Qed.
Lemma is_sub_whole {g p q x y l h} : Is g p x -> Is g q y -> Whole x -> Whole y -> Range (sub x y) l h ->
  small_whole l h = true -> Is g (qsub p q) (sub x y).
Proof.
  intros P Q X Y R H. unfold Is. destruct (difference_whole _ _ _ _ X Y R H) as [E _]. rewrite E. apply qsub_equals; assumption.
Qed.
Lemma is_mul_whole {g p q x y l h} : Is g p x -> Is g q y -> Whole x -> Whole y -> Range (mul x y) l h ->
  small_whole l h = true -> Is g (qmul p q) (mul x y).
Proof.
  intros P Q X Y R H. unfold Is. destruct (product_whole _ _ _ _ X Y R H) as [E _]. rewrite E. apply qmul_equals; assumption.
Qed.

(* 1 - 2^-53 and 1 + 2^-52, which bound the relative error of one rounding. *)
Definition rounding : interval := (Float radix2 9007199254740991 (-53), Float radix2 4503599627370497 (-52)).
(* The smallest positive float, which bounds the absolute error of rounding in the subnormal range. *)
Definition vanished : interval := (Float radix2 (-1) (-1074), Float radix2 1 (-1074)).

Definition qround (a : quotient) : quotient := (pscale [] rounding (fst a), snd a).
Definition qround_small (a : quotient) : quotient :=
  (padd (pscale [] rounding (fst a)) (pscale [] vanished (snd a)), snd a).

Lemma rounding_has : forall e, Rabs e <= / 2 * bpow radix2 (- precision + 1) -> has rounding (1 + e).
Proof.
  intros e H. assert (U : / 2 * bpow radix2 (- precision + 1) = / 9007199254740992) by (simpl; lra).
  rewrite U in H. apply Rabs_le_inv in H. unfold has, rounding, F2R; simpl. lra.
Qed.

Lemma vanished_has : forall e, Rabs e <= / 2 * bpow radix2 (-1074) -> has vanished e.
Proof.
  intros e H. apply Rabs_le_inv in H. assert (P := bpow_gt_0 radix2 (-1074)).
  unfold has, vanished, F2R. cbn [fst snd Fnum Fexp]. lra.
Qed.

Lemma scaled_equals : forall g q r e, Equals g q r -> has rounding (1 + e) -> Equals g (qround q) (r * (1 + e)).
Proof.
  intros g q r e [o [u [O [U [P E]]]]] H. exists ((1 + e) * meval (sizes g) [] * o), u. repeat split; auto.
  - apply pscale_sum; assumption.
  - subst. simpl. field. lra.
Qed.

Lemma is_rounded {g q x l h} : Rounds g q x -> Range x l h -> normal l h = true -> Is g (qround q) x.
Proof.
  intros [r [E V]] R N. assert (S := normal_val _ _ _ R N). rewrite V in S. apply normal_before in S.
  assert (P : (0 < precision)%Z) by reflexivity.
  destruct (relative_error_N_FLT_ex radix2 (-1074) precision P (fun z => negb (Z.even z)) r) as [e [B F]].
  { exact S. }
  unfold Is. rewrite V. change (rnd r) with (round radix2 (FLT_exp (-1074) precision) (Znearest (fun z => negb (Z.even z))) r).
  rewrite F. apply scaled_equals; [exact E | apply rounding_has; exact B].
Qed.

Lemma is_rounded_small {g q x} : Rounds g q x -> Is g (qround_small q) x.
Proof.
  intros [r [[o [u [O [U [P E]]]]] V]]. assert (Q : (0 < precision)%Z) by reflexivity.
  destruct (error_N_FLT radix2 (-1074) precision Q (fun z => negb (Z.even z)) r) as [e [d [B [D [_ F]]]]].
  unfold Is. rewrite V. change (rnd r) with (round radix2 (FLT_exp (-1074) precision) (Znearest (fun z => negb (Z.even z))) r).
  rewrite F. exists ((1 + e) * meval (sizes g) [] * o + d * meval (sizes g) [] * u), u. repeat split; auto.
  - apply padd_sum; apply pscale_sum; auto; [apply rounding_has; exact B | apply vanished_has; exact D].
  - subst. simpl. field. lra.
Qed.

Lemma sum_error : forall x y : f64, exists e, has rounding (1 + e) /\ rnd (val x + val y) = (val x + val y) * (1 + e).
Proof.
  intros x y.
  destruct (FLT_plus_error_N_ex radix2 (-1074) precision (fun z => negb (Z.even z)) (val x) (val y)) as [e [B F]];
    try apply generic_format_B2R.
  exists e. split; [|exact F]. apply rounding_has. apply Rle_trans with (1 := B). apply u_rod1pu_ro_le_u_ro.
Qed.

Lemma is_add {g p q x y l h k i c d} : Is g p x -> Is g q y -> Range x l h -> Range y k i -> Range (add x y) c d ->
  Is g (qround (qadd p q)) (add x y).
Proof.
  intros P Q X Y R. open_facts. unfold Is. rewrite add_val by assumption.
  destruct (sum_error x y) as [e [B E]]. rewrite E. apply scaled_equals; [apply qadd_equals; assumption | exact B].
Qed.

Lemma is_sub {g p q x y l h k i c d} : Is g p x -> Is g q y -> Range x l h -> Range y k i -> Range (sub x y) c d ->
  Is g (qround (qsub p q)) (sub x y).
Proof.
  intros P Q X Y R. open_facts. unfold Is. rewrite sub_val by assumption.
  destruct (sum_error x (neg y)) as [e [B E]]. rewrite neg_val in E. unfold Rminus. rewrite E.
  apply scaled_equals; [apply qsub_equals; assumption | exact B].
Qed.

(* Orders and ranges. *)

Lemma nonnegative_equals : forall g q r, Gaps g -> Equals g q r -> pnonnegative (bounds_of g) (fst q) = true -> 0 <= r.
Proof.
  intros g q r G [o [u [O [_ [P E]]]]] H. subst r. unfold Rdiv; apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; exact P].
  apply (pnonnegative_val g (fst q)); assumption.
Qed.

Lemma reals_le {g w p q x y l h k i} : Gaps g -> bounds_of g = w -> Rounds g p x -> Rounds g q y -> Range x l h -> Range y k i ->
  pnonnegative w (fst (qsub q p)) = true -> Le x y.
Proof.
  intros G <- [r [P V]] [s [Q W]] X Y H. open_facts. repeat split; auto. rewrite V, W. apply rnd_le.
  assert (0 <= s - r) by (apply (nonnegative_equals g (qsub q p)); auto using qsub_equals). lra.
Qed.

Lemma reals_lt {g w p q x y l h k i} : Gaps g -> bounds_of g = w -> Is g p x -> Is g q y -> Range x l h -> Range y k i ->
  ppositive w (fst (qsub q p)) = true -> Lt x y.
Proof.
  intros G <- P Q X Y H. open_facts. repeat split; auto.
  destruct (qsub_equals _ _ _ _ _ Q P) as [o [u [O [_ [U E]]]]].
  assert (0 < o) by (apply (ppositive_val g (fst (qsub q p))); assumption).
  assert (0 < o / u) by (apply Rdiv_lt_0_compat; assumption). lra.
Qed.

Lemma reals_range {g w p x l h low high} : Gaps g -> bounds_of g = w -> Rounds g p x -> Range x l h ->
  fin low && fin high && pnonnegative w (fst (qsub p (qnum low))) && pnonnegative w (fst (qsub (qnum high) p)) = true ->
  Range x low high.
Proof.
  intros G <- [r [P V]] X H. open_facts. split; [assumption|]. rewrite V.
  assert (0 <= r - val low) by (apply (nonnegative_equals g (qsub p (qnum low))); auto using qsub_equals, qnum_equals).
  assert (0 <= val high - r) by (apply (nonnegative_equals g (qsub (qnum high) p)); auto using qsub_equals, qnum_equals).
  split; [rewrite <- (rnd_val low) | rewrite <- (rnd_val high)]; apply rnd_le; lra.
Qed.

(* Disjunctive syllogism. *)
Lemma rest_first {a b} : orb a b = true -> a = false -> b = true.
Proof. intros H ->. exact H. Qed.
Lemma rest_second {a b} : orb a b = true -> b = false -> a = true.
Proof. intros H ->. rewrite orb_false_r in H. exact H. Qed.

(* Conditions of a rule are checked by computation. *)
Ltac side := vm_compute; reflexivity.

Strategy 1000 [add sub mul div floor ceil sqrt abs pow].
