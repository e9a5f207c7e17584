/// Numbers in HTTP header fields: decimal digits, without a sign, a fraction or white space.
package enum DecimalDigits {
    /// Whether a byte is a decimal digit.
    package static func contains(_ byte: UInt8) -> Bool {
        0x30...0x39 ~= byte
    }

    /// Returns the number that digits represent.
    ///
    /// - Parameters:
    ///   - digits: The digits, with or without leading zeros.
    ///   - limit: The result for a larger number, greater than zero; `nil` rejects a number of more than 63 bits.
    /// - Returns: The number, or `nil` if there is no digit, another character, or a number that is rejected.
    package static func number(_ digits: some Collection<UInt8>, limit: Int64? = nil) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        var isTooLarge = false
        for digit in digits {
            guard contains(digit) else { return nil }
            let (tens, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = tens.addingReportingOverflow(Int64(digit - 0x30))
            isTooLarge = isTooLarge || overflows || overflowsToo
            if !isTooLarge { number = sum }
        }
        guard let limit else { return isTooLarge ? nil : number }
        return isTooLarge ? limit : min(number, limit)
    }
}
