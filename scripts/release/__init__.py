"""What a release is made of: archives, the list of all parts, their licences."""
