/// Returns all textual representations of a value, to check them for secrets.
package func everyPrint(of value: some Any) -> String {
    var dumped = ""
    dump(value, to: &dumped)
    return "\(value)\n\(String(reflecting: value))\n\([value])\n\(Optional(value) as Any)\n\(dumped)"
}
