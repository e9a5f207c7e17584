/// Everything that a value gives away when it is printed, one way or the other.
package func everyPrint(of value: some Any) -> String {
    var dumped = ""
    dump(value, to: &dumped)
    return "\(value)\n\(String(reflecting: value))\n\([value])\n\(Optional(value) as Any)\n\(dumped)"
}
