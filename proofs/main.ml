(* Reads a machine and a word, and prints the outputs of the universal Transformer: engine.py has the format. *)
open Engine

let ask () = Scanf.scanf " %d" Fun.id
let many read = List.init (ask ()) (fun _ -> read ())
let rec positive k = if k = 1 then XH else if k land 1 = 0 then XO (positive (k / 2)) else XI (positive (k / 2))
let number () = match ask () with 0 -> N0 | k -> Npos (positive k)
let rec nat k = if k = 0 then O else S (nat (k - 1))

let rec bits = function XH -> "1" | XO p -> bits p ^ "0" | XI p -> bits p ^ "1"
let integer = function Z0 -> "0" | Zpos p -> bits p | Zneg p -> "-" ^ bits p
let fraction { qnum; qden } = integer qnum ^ "/" ^ bits qden

let () =
  let phi = ask () = 1 in
  let blanks = ask () = 1 in
  let g_states = number () in
  let g_symbols = number () in
  let g_blank = number () in
  let g_start = number () in
  let accepting = many number in
  let rule () =
    let q = number () in
    let a = number () in
    let p = number () in
    let b = number () in
    let m = match ask () with -1 -> Left | 1 -> Right | _ -> Stay in
    ((q, a), ((p, b), m))
  in
  let rules = many rule in
  let g_accepting q = List.mem q accepting in
  let g_delta q a = List.assoc_opt (q, a) rules in
  let back = many number in
  let word = many number in
  let times = nat (ask ()) in
  outputs_of phi blanks { g_states; g_symbols; g_blank; g_start; g_accepting; g_delta } back word times
  |> List.iter (fun row -> print_endline (String.concat " " (List.map fraction row)))
