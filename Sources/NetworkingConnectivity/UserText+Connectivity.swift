import NetworkingCore

extension UserText {
    /// The texts of this module's errors.
    static let connectivity = [damagedOutbox, unusableOutbox]

    static let damagedOutbox = UserText(
        key: "outbox.damaged",
        description: "Changes that were not sent yet are lost.",
        reason: "The file with the unsent changes is damaged.",
        suggestion: "Check your latest changes and make them again."
    )
    static let unusableOutbox = UserText(
        key: "outbox.unusable",
        description: "Changes that were not sent yet could not be read or saved.",
        reason: "The file with the unsent changes is protected, or there is not enough free space.",
        suggestion: "Check the free space on this device and try again."
    )
}
